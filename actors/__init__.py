"""The runtime: conversations as actors, their tools and subagents supervised."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from actors import _neighbour as _neighbour  # first: it names a foreign `protocol`
from protocol import END as END
from protocol import START as START
from protocol import ActorClosed as ActorClosed
from protocol import AgentInfo as AgentInfo
from protocol import AgentState as AgentState
from protocol import AnnotationBlock as AnnotationBlock
from protocol import AnnotationRef as AnnotationRef
from protocol import AnswerEntry as AnswerEntry
from protocol import AudioBlock as AudioBlock
from protocol import AuthError as AuthError
from protocol import BudgetExceeded as BudgetExceeded
from protocol import CallStartEntry as CallStartEntry
from protocol import ChildEndEntry as ChildEndEntry
from protocol import ChildStartEntry as ChildStartEntry
from protocol import ContentBlock as ContentBlock
from protocol import ContextChange as ContextChange
from protocol import ContextChangeEntry as ContextChangeEntry
from protocol import ContextTooLongError as ContextTooLongError
from protocol import CutOffError as CutOffError
from protocol import DataBlock as DataBlock
from protocol import DocumentBlock as DocumentBlock
from protocol import ErrorBlock as ErrorBlock
from protocol import ErrorEntry as ErrorEntry
from protocol import Exchange as Exchange
from protocol import ExchangeEntry as ExchangeEntry
from protocol import ExecMeta as ExecMeta
from protocol import ExecutionState as ExecutionState
from protocol import ExtraDataEntry as ExtraDataEntry
from protocol import FrozenDict as FrozenDict
from protocol import FrozenList as FrozenList
from protocol import GraphEndEntry as GraphEndEntry
from protocol import GraphError as GraphError
from protocol import GraphRecursionError as GraphRecursionError
from protocol import GraphStartEntry as GraphStartEntry
from protocol import HistoryEntry as HistoryEntry
from protocol import Image as Image
from protocol import ImageBlock as ImageBlock
from protocol import Interrupt as Interrupt
from protocol import InterruptEntry as InterruptEntry
from protocol import MediaRef as MediaRef
from protocol import Message as Message
from protocol import MessageEntry as MessageEntry
from protocol import ModelEvent as ModelEvent
from protocol import ModelEventEntry as ModelEventEntry
from protocol import ModelReplyEntry as ModelReplyEntry
from protocol import ModelRequestEntry as ModelRequestEntry
from protocol import NodeEndEntry as NodeEndEntry
from protocol import NodeError as NodeError
from protocol import NodeStartEntry as NodeStartEntry
from protocol import NoHumanError as NoHumanError
from protocol import OutputError as OutputError
from protocol import PermissionWarning as PermissionWarning
from protocol import Price as Price
from protocol import ProviderError as ProviderError
from protocol import Question as Question
from protocol import QuestionEntry as QuestionEntry
from protocol import RateLimitError as RateLimitError
from protocol import RawBlock as RawBlock
from protocol import ReasoningBlock as ReasoningBlock
from protocol import RemoteToolCallBlock as RemoteToolCallBlock
from protocol import Reply as Reply
from protocol import ResumeWarning as ResumeWarning
from protocol import RunCancelled as RunCancelled
from protocol import RunStartEntry as RunStartEntry
from protocol import StateSnapshot as StateSnapshot
from protocol import StepEndEntry as StepEndEntry
from protocol import StopEntry as StopEntry
from protocol import Stopped as Stopped
from protocol import StoppedByBudget as StoppedByBudget
from protocol import StoppedByFinish as StoppedByFinish
from protocol import StoppedByLimit as StoppedByLimit
from protocol import StoppedByPermission as StoppedByPermission
from protocol import StoppedByQuestion as StoppedByQuestion
from protocol import StoppedByUntil as StoppedByUntil
from protocol import StoreConflict as StoreConflict
from protocol import StoreDamaged as StoreDamaged
from protocol import StoreUnknown as StoreUnknown
from protocol import TextBlock as TextBlock
from protocol import TokenUsages as TokenUsages
from protocol import ToolCall as ToolCall
from protocol import ToolCallBlock as ToolCallBlock
from protocol import ToolError as ToolError
from protocol import ToolInputError as ToolInputError
from protocol import ToolOutcomeKind as ToolOutcomeKind
from protocol import ToolResult as ToolResult
from protocol import ToolResultBlock as ToolResultBlock
from protocol import ToolResultEntry as ToolResultEntry
from protocol import TrimEntry as TrimEntry
from protocol import UnknownEntry as UnknownEntry
from protocol import Usage as Usage
from protocol import VideoBlock as VideoBlock
from protocol import add_messages as add_messages
from protocol import append_items as append_items
from protocol import remove_tool_messages as remove_tool_messages
from protocol import replace_messages as replace_messages
from protocol import replace_value as replace_value
from protocol import set_message_ids as set_message_ids
from protocol._publish import publish as _publish

from ._agent import Agent as Agent
from ._background import start_child as start_child
from ._events import ChildEnd as ChildEnd
from ._events import ChildStart as ChildStart
from ._events import ContextChanged as ContextChanged
from ._events import Event as Event
from ._events import ModelHappened as ModelHappened
from ._events import RunEnd as RunEnd
from ._events import RunStart as RunStart
from ._events import TextDelta as TextDelta
from ._events import ThinkEnd as ThinkEnd
from ._events import ThinkStart as ThinkStart
from ._events import ToolEnd as ToolEnd
from ._events import ToolStart as ToolStart
from ._family import Origin as Origin
from ._fan_out import ChildResult as ChildResult
from ._fan_out import Quorum as Quorum
from ._fan_out import afan_out as afan_out
from ._fan_out import fan_out as fan_out
from ._fan_out import first as first
from ._fan_out import quorum as quorum
from ._limits import Limits as Limits
from ._loop import CompactIfFull as CompactIfFull
from ._loop import Loop as Loop
from ._loop import adefault_loop as adefault_loop
from ._loop import deadline as deadline
from ._loop import default_loop as default_loop
from ._loop import loop as loop
from ._loop import waiting_for_user as waiting_for_user
from ._restart import Restart as Restart
from ._run import CancelReport as CancelReport
from ._run import Run as Run
from ._run import TreeNode as TreeNode
from ._state import State as State
from ._statistics import StateStatistics as StateStatistics
from ._statistics import SupervisorStatistics as SupervisorStatistics
from ._statistics import Unstopped as Unstopped
from ._stream import Stream as Stream
from ._supervisor import Supervisor as Supervisor
from ._supervisor import open_supervisor as open_supervisor
from .models import Anthropic as Anthropic
from .models import FunctionModel as FunctionModel
from .models import Model as Model
from .models import OpenAICompatible as OpenAICompatible
from .models import Request as Request
from .models import ToolSpec as ToolSpec
from .people import AllowByDefault as AllowByDefault
from .people import AllowByName as AllowByName
from .people import AllowByReadOnly as AllowByReadOnly
from .people import Allowed as Allowed
from .people import AskHuman as AskHuman
from .people import DecideByHuman as DecideByHuman
from .people import Denied as Denied
from .people import DenyByName as DenyByName
from .people import Human as Human
from .people import Inbox as Inbox
from .people import Permission as Permission
from .people import Reporter as Reporter
from .people import Terminal as Terminal
from .tools import Tool as Tool
from .tools import tool as tool
from .tools._execute import CurrentCall as CurrentCall

if TYPE_CHECKING:
    from .graph import *  # noqa: F403 - what it exports stands in the list below
    from .stores import *  # noqa: F403 - likewise, name by name

__all__ = [
    "ActorClosed",
    "Agent",
    "AgentInfo",
    "AgentState",
    "AllowByDefault",
    "AllowByName",
    "AllowByReadOnly",
    "Allowed",
    "AnnotationBlock",
    "AnnotationRef",
    "AnswerEntry",
    "Anthropic",
    "AskHuman",
    "AudioBlock",
    "AuthError",
    "BaseContextManager",
    "BudgetExceeded",
    "CallStartEntry",
    "CancelReport",
    "ChildEnd",
    "ChildEndEntry",
    "ChildResult",
    "ChildStart",
    "ChildStartEntry",
    "Command",
    "CompactIfFull",
    "CompiledGraph",
    "ContentBlock",
    "ContextChange",
    "ContextChangeEntry",
    "ContextChanged",
    "ContextTooLongError",
    "CurrentCall",
    "CustomValue",
    "CutOffError",
    "DataBlock",
    "DecideByHuman",
    "Denied",
    "DenyByName",
    "DocumentBlock",
    "END",
    "ErrorBlock",
    "ErrorEntry",
    "Event",
    "Exchange",
    "ExchangeEntry",
    "ExecMeta",
    "ExecutionState",
    "ExtraDataEntry",
    "FileStore",
    "FrozenDict",
    "FrozenList",
    "FunctionModel",
    "GraphEndEntry",
    "GraphEnded",
    "GraphError",
    "GraphEvent",
    "GraphFailed",
    "GraphRecursionError",
    "GraphStartEntry",
    "GraphStream",
    "HistoryEntry",
    "Human",
    "Image",
    "ImageBlock",
    "Inbox",
    "Interrupt",
    "InterruptEntry",
    "Limits",
    "Loop",
    "MediaRef",
    "MemoryStore",
    "Message",
    "MessageAdded",
    "MessageContextManager",
    "MessageDelta",
    "MessageEntry",
    "Model",
    "ModelEvent",
    "ModelEventEntry",
    "ModelHappened",
    "ModelReplyEntry",
    "ModelRequestEntry",
    "NoHumanError",
    "NodeEndEntry",
    "NodeError",
    "NodeStartEntry",
    "NodeUpdate",
    "OpenAICompatible",
    "Origin",
    "OutputError",
    "Permission",
    "PermissionWarning",
    "Picture",
    "PostgresStore",
    "Price",
    "ProviderError",
    "Question",
    "QuestionEntry",
    "Quorum",
    "RateLimitError",
    "RawBlock",
    "ReasoningBlock",
    "Record",
    "RemoteToolCallBlock",
    "Reply",
    "Reporter",
    "Request",
    "Restart",
    "ResumeWarning",
    "Run",
    "RunCancelled",
    "RunEnd",
    "RunStart",
    "RunStartEntry",
    "SQLiteStore",
    "START",
    "Salvaged",
    "Saved",
    "Send",
    "State",
    "StateChanged",
    "StateGraph",
    "StateSnapshot",
    "StateStatistics",
    "StepEndEntry",
    "StopEntry",
    "Stopped",
    "StoppedByBudget",
    "StoppedByFinish",
    "StoppedByLimit",
    "StoppedByPermission",
    "StoppedByQuestion",
    "StoppedByUntil",
    "Store",
    "StoreConflict",
    "StoreDamaged",
    "StoreUnknown",
    "Stream",
    "SummaryContextManager",
    "Supervisor",
    "SupervisorStatistics",
    "Terminal",
    "TextBlock",
    "TextDelta",
    "ThinkEnd",
    "ThinkStart",
    "TokenUsages",
    "Tool",
    "ToolCall",
    "ToolCallBlock",
    "ToolEnd",
    "ToolError",
    "ToolInputError",
    "ToolNode",
    "ToolOutcomeKind",
    "ToolResult",
    "ToolResultBlock",
    "ToolResultEntry",
    "ToolSpec",
    "ToolStart",
    "TornTailWarning",
    "TreeNode",
    "TrimEntry",
    "UnknownEntry",
    "Unstopped",
    "Usage",
    "VideoBlock",
    "add_messages",
    "adefault_loop",
    "afan_out",
    "append_items",
    "create_handoff_tool",
    "deadline",
    "default_loop",
    "emit",
    "fan_out",
    "first",
    "interrupt",
    "loop",
    "open_supervisor",
    "quorum",
    "refuse_conflict",
    "remove_tool_messages",
    "replace_messages",
    "replace_value",
    "salvage",
    "set_message_ids",
    "start_child",
    "tool",
    "waiting_for_user",
]

_publish(globals())


_LOADED_LATER = ("actors.stores", "actors.graph")
"""What most programs use little of: loaded when one of its names is first used."""


def __getattr__(name: str) -> Any:
    """Find a public name in the packages that are loaded later."""
    for package in map(import_module, _LOADED_LATER if name in __all__ else ()):
        found = {each: getattr(package, each) for each in package.__all__}
        globals().update(found)
        if name in found:
            _publish(globals())
            return found[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
