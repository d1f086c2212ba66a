"""Graphs: nodes that share a state, run step by step on a thread."""

from protocol import END as END
from protocol import START as START
from protocol._graph_entries import Interrupt as Interrupt
from protocol._publish import publish as _publish

from ._app import CompiledGraph as CompiledGraph
from ._builder import StateGraph as StateGraph
from ._context import BaseContextManager as BaseContextManager
from ._context import MessageContextManager as MessageContextManager
from ._context import SummaryContextManager as SummaryContextManager
from ._events import CustomValue as CustomValue
from ._events import GraphEnded as GraphEnded
from ._events import GraphEvent as GraphEvent
from ._events import GraphFailed as GraphFailed
from ._events import MessageAdded as MessageAdded
from ._events import MessageDelta as MessageDelta
from ._events import NodeUpdate as NodeUpdate
from ._events import StateChanged as StateChanged
from ._interrupts import emit as emit
from ._interrupts import interrupt as interrupt
from ._picture import Picture as Picture
from ._routes import Command as Command
from ._routes import Send as Send
from ._stream import GraphStream as GraphStream
from ._toolnode import ToolNode as ToolNode
from ._toolnode import create_handoff_tool as create_handoff_tool

__all__ = [
    "BaseContextManager",
    "Command",
    "CompiledGraph",
    "CustomValue",
    "END",
    "GraphEnded",
    "GraphEvent",
    "GraphFailed",
    "GraphStream",
    "Interrupt",
    "MessageAdded",
    "MessageContextManager",
    "MessageDelta",
    "NodeUpdate",
    "Picture",
    "START",
    "Send",
    "StateChanged",
    "StateGraph",
    "SummaryContextManager",
    "ToolNode",
    "create_handoff_tool",
    "emit",
    "interrupt",
]

_publish(globals())
