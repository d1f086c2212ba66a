"""Models: what answers a request, at a provider, on this machine, or as a rule."""

from ._model import Model as Model
from ._model import OnEvent as OnEvent
from ._model import OnText as OnText
from ._model import Request as Request
from ._model import ToolSpec as ToolSpec

__all__ = ["Model", "OnEvent", "OnText", "Request", "ToolSpec"]
