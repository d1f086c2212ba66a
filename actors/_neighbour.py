"""Is the package named `protocol` ours? Asked before anything is taken from it.

Another distribution's `protocol` in front of ours, or written over it, would show as an
ImportError about some name deep inside. `callboard doctor` could not tell either, for
its own code needs `protocol` too.
"""

import protocol


def check_neighbour() -> None:
    """Raise `ImportError`, with the way out, when `protocol` is somebody else's."""
    if "StateSnapshot" in getattr(protocol, "__all__", ()):
        return
    raise ImportError(
        f"cannot load actors: the package 'protocol' in {protocol.__file__!r} is not "
        "that of callboard; rename it if it is yours, else `pip uninstall protocol` "
        "and `pip install --force-reinstall --no-deps callboard`"
    )
