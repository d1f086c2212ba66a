"""Values and rules of a conversation, without any input or output."""

from ._agent_state import AgentState as AgentState
from ._content import AnnotationBlock as AnnotationBlock
from ._content import AudioBlock as AudioBlock
from ._content import ContentBlock as ContentBlock
from ._content import DataBlock as DataBlock
from ._content import DocumentBlock as DocumentBlock
from ._content import ErrorBlock as ErrorBlock
from ._content import ImageBlock as ImageBlock
from ._content import RawBlock as RawBlock
from ._content import ReasoningBlock as ReasoningBlock
from ._content import RemoteToolCallBlock as RemoteToolCallBlock
from ._content import TextBlock as TextBlock
from ._content import ToolCall as ToolCall
from ._content import ToolCallBlock as ToolCallBlock
from ._content import ToolResultBlock as ToolResultBlock
from ._content import VideoBlock as VideoBlock
from ._entries import AgentInfo as AgentInfo
from ._entries import ContextChange as ContextChange
from ._entries import ContextChangeEntry as ContextChangeEntry
from ._entries import ErrorEntry as ErrorEntry
from ._entries import Exchange as Exchange
from ._entries import ExchangeEntry as ExchangeEntry
from ._entries import ExtraDataEntry as ExtraDataEntry
from ._entries import HistoryEntry as HistoryEntry
from ._entries import MessageEntry as MessageEntry
from ._entries import ModelEvent as ModelEvent
from ._entries import ModelEventEntry as ModelEventEntry
from ._entries import ModelReplyEntry as ModelReplyEntry
from ._entries import ModelRequestEntry as ModelRequestEntry
from ._entries import Reply as Reply
from ._entries import RunStartEntry as RunStartEntry
from ._entries import StopEntry as StopEntry
from ._entries import ToolResultEntry as ToolResultEntry
from ._entries import UnknownEntry as UnknownEntry
from ._errors import ActorClosed as ActorClosed
from ._errors import AuthError as AuthError
from ._errors import BudgetExceeded as BudgetExceeded
from ._errors import ContextTooLongError as ContextTooLongError
from ._errors import CutOffError as CutOffError
from ._errors import GraphError as GraphError
from ._errors import GraphRecursionError as GraphRecursionError
from ._errors import NodeError as NodeError
from ._errors import NoHumanError as NoHumanError
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
from ._exec_meta import END as END
from ._exec_meta import START as START
from ._exec_meta import ExecMeta as ExecMeta
from ._exec_meta import ExecutionState as ExecutionState
from ._files import Image as Image
from ._graph_entries import GraphEndEntry as GraphEndEntry
from ._graph_entries import GraphStartEntry as GraphStartEntry
from ._graph_entries import Interrupt as Interrupt
from ._graph_entries import InterruptEntry as InterruptEntry
from ._graph_entries import NodeEndEntry as NodeEndEntry
from ._graph_entries import NodeStartEntry as NodeStartEntry
from ._graph_entries import StepEndEntry as StepEndEntry
from ._graph_entries import TrimEntry as TrimEntry
from ._ids import set_message_ids as set_message_ids
from ._json import FrozenDict as FrozenDict
from ._json import FrozenList as FrozenList
from ._media import AnnotationRef as AnnotationRef
from ._media import MediaRef as MediaRef
from ._message import Message as Message
from ._publish import publish as _publish
from ._records import CHAIN_START as CHAIN_START
from ._records import Scan as Scan
from ._records import checksum_of as checksum_of
from ._records import scan as scan
from ._records import seal as seal
from ._reducers import add_messages as add_messages
from ._reducers import append_items as append_items
from ._reducers import remove_tool_messages as remove_tool_messages
from ._reducers import replace_messages as replace_messages
from ._reducers import replace_value as replace_value
from ._snapshot import StateSnapshot as StateSnapshot
from ._stops import Question as Question
from ._stops import Stopped as Stopped
from ._stops import StoppedByBudget as StoppedByBudget
from ._stops import StoppedByFinish as StoppedByFinish
from ._stops import StoppedByLimit as StoppedByLimit
from ._stops import StoppedByPermission as StoppedByPermission
from ._stops import StoppedByQuestion as StoppedByQuestion
from ._stops import StoppedByUntil as StoppedByUntil
from ._stops import ToolOutcomeKind as ToolOutcomeKind
from ._tool_result import ToolResult as ToolResult
from ._usage import Price as Price
from ._usage import TokenUsages as TokenUsages
from ._usage import Usage as Usage
from ._work_entries import AnswerEntry as AnswerEntry
from ._work_entries import CallStartEntry as CallStartEntry
from ._work_entries import ChildEndEntry as ChildEndEntry
from ._work_entries import ChildStartEntry as ChildStartEntry
from ._work_entries import QuestionEntry as QuestionEntry

__all__ = [
    "ActorClosed",
    "AgentInfo",
    "AgentState",
    "AnnotationBlock",
    "AnnotationRef",
    "AnswerEntry",
    "AudioBlock",
    "AuthError",
    "BudgetExceeded",
    "CHAIN_START",
    "CallStartEntry",
    "ChildEndEntry",
    "ChildStartEntry",
    "ContentBlock",
    "ContextChange",
    "ContextChangeEntry",
    "ContextTooLongError",
    "CutOffError",
    "DataBlock",
    "DocumentBlock",
    "END",
    "ErrorBlock",
    "ErrorEntry",
    "Exchange",
    "ExchangeEntry",
    "ExecMeta",
    "ExecutionState",
    "ExtraDataEntry",
    "FrozenDict",
    "FrozenList",
    "GraphEndEntry",
    "GraphError",
    "GraphRecursionError",
    "GraphStartEntry",
    "HistoryEntry",
    "Image",
    "ImageBlock",
    "Interrupt",
    "InterruptEntry",
    "MediaRef",
    "Message",
    "MessageEntry",
    "ModelEvent",
    "ModelEventEntry",
    "ModelReplyEntry",
    "ModelRequestEntry",
    "NoHumanError",
    "NodeEndEntry",
    "NodeError",
    "NodeStartEntry",
    "OutputError",
    "PermissionWarning",
    "Price",
    "ProviderError",
    "Question",
    "QuestionEntry",
    "RateLimitError",
    "RawBlock",
    "ReasoningBlock",
    "RemoteToolCallBlock",
    "Reply",
    "ResumeWarning",
    "RunCancelled",
    "RunStartEntry",
    "START",
    "Scan",
    "StateSnapshot",
    "StepEndEntry",
    "StopEntry",
    "Stopped",
    "StoppedByBudget",
    "StoppedByFinish",
    "StoppedByLimit",
    "StoppedByPermission",
    "StoppedByQuestion",
    "StoppedByUntil",
    "StoreConflict",
    "StoreDamaged",
    "StoreUnknown",
    "TextBlock",
    "TokenUsages",
    "ToolCall",
    "ToolCallBlock",
    "ToolError",
    "ToolInputError",
    "ToolOutcomeKind",
    "ToolResult",
    "ToolResultBlock",
    "ToolResultEntry",
    "TrimEntry",
    "UnknownEntry",
    "Usage",
    "VideoBlock",
    "add_messages",
    "append_items",
    "checksum_of",
    "remove_tool_messages",
    "replace_messages",
    "replace_value",
    "scan",
    "seal",
    "set_message_ids",
]

_publish(globals())
