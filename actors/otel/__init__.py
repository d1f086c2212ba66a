"""OpenTelemetry spans for runs, requests to models, tool calls and children.

1. Off until `instrument` is called, and then on for the whole process.
2. Every span stands below the one that was current where its work began, and is the
   current one inside.
3. No text of a conversation, no argument and no result goes into a span.
"""

try:
    import opentelemetry.trace as _needed
except ImportError:
    raise ImportError(
        "actors.otel needs OpenTelemetry: pip install 'callboard[otel]'"
    ) from None
else:
    del _needed

from ._instrument import instrument as instrument
from ._instrument import uninstrument as uninstrument

__all__ = ["instrument", "uninstrument"]

for _public in (instrument, uninstrument):
    _public.__module__ = __name__
