"""One program for each peer, run in that peer's own environment.

Each is run as ``python -m benchmarks.compare.peers.NAME ROW COUNT``, does the work of
the row through the peer's documented interface, and prints one line of JSON. What they
share, `_script` and `_plain`, needs the standard library only.
"""
