"""The people around agents: who looks on, who is asked, and who may do what."""

from ._human import Human as Human
from ._human import Inbox as Inbox
from ._permission import AllowByDefault as AllowByDefault
from ._permission import AllowByName as AllowByName
from ._permission import AllowByReadOnly as AllowByReadOnly
from ._permission import Allowed as Allowed
from ._permission import AskHuman as AskHuman
from ._permission import DecideByHuman as DecideByHuman
from ._permission import Denied as Denied
from ._permission import DenyByName as DenyByName
from ._permission import Permission as Permission
from ._reporter import Reporter as Reporter
from ._terminal import Terminal as Terminal

__all__ = [
    "AllowByDefault",
    "AllowByName",
    "AllowByReadOnly",
    "Allowed",
    "AskHuman",
    "DecideByHuman",
    "Denied",
    "DenyByName",
    "Human",
    "Inbox",
    "Permission",
    "Reporter",
    "Terminal",
]

for _name in __all__:
    globals()[_name].__module__ = "actors"  # pickles and tracebacks name this path
