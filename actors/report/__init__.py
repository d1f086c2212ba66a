"""What a person looks at when the work is done: one file, the tree and its time."""

from protocol._publish import publish as _publish

from ._html import write_report as write_report

__all__ = ["write_report"]

_publish(globals())
