"""Refuses to go on when the package named `protocol` is somebody else's.

Imported before anything is taken from `protocol`: another distribution's package in
front of ours, or written over it, would otherwise show as an ImportError about some
name deep inside, and `callboard doctor` needs `protocol` too.
"""

import protocol

# A name that only ours exports.
if "StateSnapshot" not in getattr(protocol, "__all__", ()):
    raise ImportError(
        f"cannot load actors: the package 'protocol' in {protocol.__file__!r} is not "
        "that of callboard; rename it if it is yours, else `pip uninstall protocol` "
        "and `pip install --force-reinstall --no-deps callboard`"
    )
