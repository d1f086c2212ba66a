"""Values and rules of a conversation, without any input or output."""

from ._errors import ActorClosed as ActorClosed
from ._errors import AuthError as AuthError
from ._errors import BudgetExceeded as BudgetExceeded
from ._errors import ContextTooLongError as ContextTooLongError
from ._errors import CutOffError as CutOffError
from ._errors import GraphError as GraphError
from ._errors import GraphRecursionError as GraphRecursionError
from ._errors import NoHumanError as NoHumanError
from ._errors import NodeError as NodeError
from ._errors import OutputError as OutputError
from ._errors import PermissionWarning as PermissionWarning
from ._errors import ProviderError as ProviderError
from ._errors import RateLimitError as RateLimitError
from ._errors import ResumeWarning as ResumeWarning
from ._errors import RunCancelled as RunCancelled
from ._errors import StoreConflict as StoreConflict
from ._errors import StoreDamaged as StoreDamaged
from ._errors import StoreUnknown as StoreUnknown
from ._errors import ToolError as ToolError
from ._errors import ToolInputError as ToolInputError
from ._ids import set_message_ids as set_message_ids
from ._json import FrozenDict as FrozenDict
from ._json import FrozenList as FrozenList
from ._usage import Price as Price
from ._usage import TokenUsages as TokenUsages
from ._usage import Usage as Usage

__all__ = [
    "ActorClosed",
    "AuthError",
    "BudgetExceeded",
    "ContextTooLongError",
    "CutOffError",
    "FrozenDict",
    "FrozenList",
    "GraphError",
    "GraphRecursionError",
    "NoHumanError",
    "NodeError",
    "OutputError",
    "PermissionWarning",
    "Price",
    "ProviderError",
    "RateLimitError",
    "ResumeWarning",
    "RunCancelled",
    "StoreConflict",
    "StoreDamaged",
    "StoreUnknown",
    "TokenUsages",
    "ToolError",
    "ToolInputError",
    "Usage",
    "set_message_ids",
]

for _name in __all__:
    _public = globals()[_name]
    if isinstance(_public, type) or hasattr(_public, "__code__"):
        _public.__module__ = __name__  # pickles and tracebacks name the public path
