"""Limits of a tree of runs, and the accounts that keep them.

1. What can be counted before it happens (requests, children, depth, calls) is
   reserved first and never overrun. Tokens and cost are known only afterwards: no
   request starts once they are spent.
2. An account belongs to one scope and is shared by everything below it. Where several
   are exceeded, the outermost one is named.
"""

from typing import Any, Literal, TypeAlias, cast

import attrs

from protocol import BudgetExceeded, Usage

LimitName: TypeAlias = Literal[
    "requests", "tokens", "cost", "seconds", "depth", "children", "calls_per_turn"
]


IN_THE_WAY: tuple[LimitName, ...] = ("depth", "children")
"""Limits that forbid one child, and nothing else: the parent goes on without it."""


def _positive(_: object, field: "attrs.Attribute[Any]", value: object) -> None:
    if value is None:
        return
    fraction = field.name in ("cost", "seconds") and isinstance(value, float)
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not (fraction or whole) or not cast("float", value) >= 0:
        raise ValueError(
            f"Limits({field.name}=...) is a number >= 0 or None for no limit, "
            f"not {value!r}"
        )


@attrs.frozen(kw_only=True)
class Limits:
    """What a run, or a supervisor, and everything below it may use; None: no limit."""

    requests: int | None = attrs.field(default=None, validator=_positive)
    """Requests to models, retries by the gate counted as one."""
    tokens: int | None = attrs.field(default=None, validator=_positive)
    """Tokens read and written, as providers count them."""
    cost: float | None = attrs.field(default=None, validator=_positive)
    """Dollars. A request of unknown cost counts as nothing."""
    seconds: float | None = attrs.field(default=None, validator=_positive)
    """Seconds from the start of the scope."""
    depth: int | None = attrs.field(default=None, validator=_positive)
    """Levels of subagents below the scope."""
    children: int | None = attrs.field(default=None, validator=_positive)
    """Subagents started below the scope, in all."""
    calls_per_turn: int | None = attrs.field(default=None, validator=_positive)
    """Tool calls of one reply that are run; further ones get an error result."""
    count_waiting: bool = True
    """Whether time spent waiting for a human counts towards ``seconds``."""


def check_limits(given: Any) -> None:
    """Refuse what is neither `Limits` nor None.

    Raises:
        TypeError: it is something else.
    """
    if given is not None and not isinstance(given, Limits):
        raise TypeError(f"limits= takes Limits(requests=...), not {given!r}")


class Account:
    """What one scope has used of its limits."""

    __slots__ = ("children", "cost", "depth", "limits", "owner", "requests", "tokens")

    def __init__(self, limits: Limits, owner: str, depth: int) -> None:
        self.limits = limits
        self.owner = owner
        self.depth = depth
        self.requests = 0
        self.children = 0
        self.tokens = 0
        self.cost = 0.0

    def lacks_for_request(self) -> LimitName | None:
        """The limit that one more request would break, or None."""
        limits = self.limits
        if limits.requests is not None and self.requests >= limits.requests:
            return "requests"
        return self.lacks_for_spending()

    def lacks_for_spending(self) -> LimitName | None:
        """The limit whose tokens or dollars are all spent, or None."""
        limits = self.limits
        if limits.tokens is not None and self.tokens >= limits.tokens:
            return "tokens"
        if limits.cost is not None and self.cost >= limits.cost:
            return "cost"
        return None

    def lacks_for_child(self, depth: int) -> LimitName | None:
        """The limit that one more child at this depth would break, or None."""
        limits = self.limits
        if limits.depth is not None and depth - self.depth > limits.depth:
            return "depth"
        if limits.children is not None and self.children >= limits.children:
            return "children"
        return None

    def exceeded(self, limit: LimitName) -> BudgetExceeded:
        """The error that names this account as the one that ran out."""
        return BudgetExceeded(limit, self.owner)


Accounts: TypeAlias = tuple[Account, ...]
"""The accounts that a scope draws on, outermost first."""


def reserve_request(accounts: Accounts) -> None:
    """Take one request from every account, or from none.

    Raises:
        BudgetExceeded: the outermost account that has none left.
    """
    for account in accounts:
        limit = account.lacks_for_request()
        if limit is not None:
            raise account.exceeded(limit)
    for account in accounts:
        account.requests += 1


def return_request(accounts: Accounts) -> None:
    """Give back a request that was reserved and never sent."""
    for account in accounts:
        account.requests -= 1


def refuse_spent(accounts: Accounts) -> None:
    """Refuse a reserved request when all was spent while it waited to be sent.

    It is given back: it was never sent.

    Raises:
        BudgetExceeded: the outermost account with nothing left to spend.
    """
    for account in accounts:
        limit = account.lacks_for_spending()
        if limit is not None:
            return_request(accounts)
            raise account.exceeded(limit)


def spend(accounts: Accounts, usage: Usage) -> None:
    """Count what a request turned out to use."""
    for account in accounts:
        account.tokens += usage.total_tokens
        account.cost += usage.cost or 0.0


def reserve_child(accounts: Accounts, depth: int) -> None:
    """Take one child from every account, or from none.

    Raises:
        BudgetExceeded: the outermost account that allows no more, or none so deep.
    """
    for account in accounts:
        limit = account.lacks_for_child(depth)
        if limit is not None:
            raise account.exceeded(limit)
    for account in accounts:
        account.children += 1


def calls_allowed(accounts: Accounts, wanted: int) -> int:
    """How many calls of one reply may run."""
    limits = [a.limits.calls_per_turn for a in accounts]
    return min([wanted, *(limit for limit in limits if limit is not None)])
