"""The side-by-side run: ``python -m benchmarks.compare``.

The same work in this library and in its peers, each in an environment of its own, in
one run and in turns, so that load on the machine hits all alike.
"""
