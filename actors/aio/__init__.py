"""A door for asyncio programs: await runs from asyncio, with trio as its guest.

1. All calls of one asyncio loop share one trio run, which lives while any of them
   does: it ends with the last call, and leaves the loop as it was.
2. A cancel crosses both ways. Cancelling the asyncio task cancels the run, waits until
   everything below it has ended, and then raises; a run that is cancelled from inside
   raises `RunCancelled` in asyncio.
"""

from ._guest import call as call
from ._guest import run as run

__all__ = ["call", "run"]

for _public in (call, run):
    _public.__module__ = __name__
