"""What a model may call: tools, their arguments and their results."""

from ._tool import Tool as Tool
from ._tool import tool as tool

__all__ = ["Tool", "tool"]
