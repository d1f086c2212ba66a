"""Models: what answers a request, at a provider, on this machine, or as a rule."""

from ._anthropic import Anthropic as Anthropic
from ._clients import close_clients as close_clients
from ._clients import hold_clients as hold_clients
from ._function import FunctionModel as FunctionModel
from ._items import Item as Item
from ._items import as_reply as as_reply
from ._items import reply_of as reply_of
from ._model import Model as Model
from ._model import OnEvent as OnEvent
from ._model import OnText as OnText
from ._model import Request as Request
from ._model import ToolSpec as ToolSpec
from ._names import as_model as as_model
from ._openai import OpenAICompatible as OpenAICompatible

__all__ = [
    "Anthropic",
    "FunctionModel",
    "Item",
    "Model",
    "OnEvent",
    "OnText",
    "OpenAICompatible",
    "Request",
    "ToolSpec",
    "as_model",
    "as_reply",
    "close_clients",
    "hold_clients",
    "reply_of",
]

for _public in (
    Anthropic,
    FunctionModel,
    Model,
    OpenAICompatible,
    Request,
    ToolSpec,
    as_model,
    as_reply,
    close_clients,
    hold_clients,
    reply_of,
):
    _public.__module__ = __name__  # pickles and tracebacks name the public path
