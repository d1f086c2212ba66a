"""What requests to models consumed, and what that costs.

1. The four token counts of a Usage are disjoint: a cached token is in
   `cache_read_tokens` and not in `input_tokens`.
2. A cost is None when it is unknown. Without requests nothing was spent, so an
   unknown cost reads as 0.0 there; a sum with an unknown part is unknown.
3. The part of each model is kept with the total, and is left out of `==`.
"""

from __future__ import annotations

from math import inf
from operator import sub
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import force_setattr

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias


class TokenUsages(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The token counts of one message, as a provider reports them."""

    completion_tokens: int
    """Tokens that the model wrote."""
    prompt_tokens: int
    """Tokens that the model read."""
    total_tokens: int
    """Both together, as the provider counts them."""
    reasoning_tokens: int = 0
    """Of the written ones, those of its reasoning."""
    cache_creation_input_tokens: int = 0
    """Of the read ones, those written to the provider's cache."""
    cache_read_input_tokens: int = 0
    """Of the read ones, those taken from the provider's cache."""
    image_tokens: int | None = 0
    """Tokens of images, or None when not reported."""
    audio_tokens: int | None = 0
    """Tokens of sound, or None when not reported."""


class _Parts(dict[str, "Usage"]):
    """Usage by model; never changed once it is part of a Usage."""

    __slots__ = ()


_KEPT = (str, _Parts)

if TYPE_CHECKING:
    _ByModel: TypeAlias = Mapping[str, "Usage"]
else:
    # A conversation mostly asks one model: its name alone then says that every
    # number is that model's, in 8 bytes instead of a dict of 400.
    _ByModel = str | dict[str, "Usage"] | None


class Usage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Tokens, requests and cost of one request, or of many together.

    `a + b` adds; `Usage()` changes nothing. `==` and `hash` leave `by_model` out.
    A cost is a float sum, so its last digit may depend on the order of adding.

    Raises:
        ValueError: A number is negative. Nothing else about numbers is checked here:
            a reply's are when it is recorded.
    """

    input_tokens: int = 0
    """Tokens read that were neither in nor put into the provider's cache."""
    output_tokens: int = 0
    """Tokens written, those of reasoning included."""
    cache_read_tokens: int = 0
    """Tokens read from the provider's cache."""
    cache_write_tokens: int = 0
    """Tokens read and put into the provider's cache."""
    requests: int = 0
    """Requests that were answered."""
    cost: float | None = None
    """US dollars; None when a request's cost is unknown, 0.0 without requests."""
    by_model: _ByModel = None  # type: ignore[assignment]  # reads as an empty mapping
    """Read-only mapping of a model's name to its part; a part has no `by_model`."""

    if TYPE_CHECKING:

        @property
        def _models(self) -> Any: ...  # how `by_model` is kept: str, _Parts or None

    def __post_init__(self) -> None:
        cost = self.cost
        if cost is None and not self.requests:
            force_setattr(self, "cost", 0.0)
        try:
            # A bit of the sign shows in what they come to together: a third of the
            # price of five comparisons, and a reply has several of these made.
            negative = (
                self.input_tokens
                | self.output_tokens
                | self.cache_read_tokens
                | self.cache_write_tokens
                | self.requests
            ) < 0 or (cost is not None and cost < 0)
        except TypeError:
            negative = False  # they are no ints
        if negative:
            raise ValueError(
                f"a Usage counts what was used, and {self!r} has a number below 0"
            )
        models = self._models
        if models is not None and type(models) not in _KEPT:
            force_setattr(self, "_models", _compact(self, models))

    def __add__(self, other: Usage) -> Usage:
        """Return both together; by model too."""
        if type(other) is not Usage:
            return NotImplemented
        if other is NOTHING:  # the commonest sums, at a tenth of the price
            return self
        if self is NOTHING:
            return other
        mine: Any = self._models
        yours = other._models
        if type(mine) is _Parts or (mine is not yours and mine != yours):
            mine = _joined(self, other)
        a, b = self.cost, other.cost
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.requests + other.requests,
            None if a is None or b is None else a + b,
            mine,
        )

    def __eq__(self, other: object) -> bool:
        if type(other) is not Usage:
            return NotImplemented
        return _numbers(self) == _numbers(other)

    def __hash__(self) -> int:
        return hash(_numbers(self))

    def __repr__(self) -> str:
        """What is not 0, as one would write it; parts by model as their names alone."""
        said = zip(self.__struct_fields__, _numbers(self), strict=False)
        shown = [f"{name}={number!r}" for name, number in said if number != 0]
        models = _parts(self)
        if models:
            shown.append(
                f"by_model={{{', '.join(f'{each!r}: ...' for each in models)}}}"
            )
        return f"Usage({', '.join(shown)})"

    @property
    def total_tokens(self) -> int:
        """All four counts together."""
        return (
            self.input_tokens
            + self.output_tokens
            + self.cache_read_tokens
            + self.cache_write_tokens
        )

    def for_model(self, model: str) -> Usage:
        """Return the same numbers as the part of `model`.

        A Usage that has parts by model already comes back as it is.
        """
        return self if self._models is not None else _with_models(self, model)

    def since(self, earlier: Usage) -> Usage:
        """Return what came on top of `earlier`, a value of the same account.

        `earlier + self.since(earlier) == self`, up to the rounding of the cost,
        and by model too. The cost is None when it is unknown on either side.

        Raises:
            ValueError: A number is smaller than in `earlier`.
        """
        if earlier is NOTHING:
            return self
        grown = tuple(map(sub, _counts(self), _counts(earlier)))
        mine, before = _parts(self), _parts(earlier)
        if min(grown) < 0 or not before.keys() <= mine.keys():
            raise ValueError(
                f"cannot tell what {self!r} is more than {earlier!r}, which is not an"
                " earlier value of it; swap them: later.since(earlier)"
            )
        cost = None
        if self.cost is not None and earlier.cost is not None:
            cost = max(0.0, self.cost - earlier.cost)  # sums in another order round
        parts = {name: mine[name].since(before.get(name, NOTHING)) for name in mine}
        spent = {name: part for name, part in parts.items() if part != NOTHING}
        return _made(grown, cost, spent)


def _counts(usage: Usage) -> tuple[int, ...]:
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.requests,
    )


def _numbers(usage: Usage) -> tuple[float | None, ...]:
    return (*_counts(usage), usage.cost)


def _made(counts: tuple[int, ...], cost: float | None, models: Any) -> Usage:
    make: Any = Usage
    made: Usage = make(*counts, cost, models)  # in the form kept, see _ByModel
    return made


def _with_models(usage: Usage, models: Any) -> Usage:
    return _made(_counts(usage), usage.cost, models)


def _parts(usage: Usage) -> Mapping[str, Usage]:
    """Return the usage by model as a dict that must not be changed."""
    models: str | _Parts | None = usage._models
    if models is None:
        return {}
    if isinstance(models, str):
        return {models: _with_models(usage, None)}
    return models


def _joined(a: Usage, b: Usage) -> Any:
    """Return how the parts of `a + b` are kept."""
    if a == NOTHING:
        return b._models
    if b == NOTHING:
        return a._models
    parts = _Parts(_parts(a))
    for name, part in _parts(b).items():
        parts[name] = parts[name] + part if name in parts else part
    return parts


def _compact(usage: Usage, given: Mapping[str, Usage]) -> str | _Parts | None:
    """Return how parts that a caller or the codec gave are kept."""
    if not given:
        return None
    for name, part in given.items():
        if type(name) is not str or type(part) is not Usage:
            raise TypeError(
                f"cannot keep {name!r}: {part!r} in by_model; it maps the name of a"
                " model to its Usage"
            )
    name, part = next(iter(given.items()))
    if len(given) == 1 and part == usage:
        return name
    return _Parts({name: _with_models(part, None) for name, part in given.items()})


if not TYPE_CHECKING:
    # The constructor and the codec reach the slot of the field by its place, so
    # the public name is free for what it reads as.
    Usage._models = Usage.by_model
    Usage.by_model = property(
        lambda self: MappingProxyType(_parts(self)),
        doc="Read-only mapping of a model's name to its part.",
    )

NOTHING = Usage()
"""What was not used. Sums know this very object, and no other that equals it."""


class Price(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a model's tokens cost, in US dollars for a million of them."""

    input: float
    """For a token read that is neither in nor put into the cache."""
    output: float
    """For a token written."""
    cache_read: float | None = None
    """For a token read from the cache; None: as `input`."""
    cache_write: float | None = None
    """For a token read and put into the cache; None: as `input`."""

    def __post_init__(self) -> None:
        _check_price("input", self.input)
        _check_price("output", self.output)
        for name in ("cache_read", "cache_write"):
            if getattr(self, name) is not None:
                _check_price(name, getattr(self, name))

    def cost(self, usage: Usage) -> float:
        """Return what the tokens of `usage` cost, in US dollars.

        The cost that `usage` itself carries does not count.
        """
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        return (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * write
        ) / 1_000_000


def _check_price(name: str, dollars: object) -> None:
    if isinstance(dollars, bool) or not isinstance(dollars, int | float):
        raise TypeError(
            f"cannot use {dollars!r} as the {name} price; pass the dollars for a"
            " million tokens as a number"
        )
    if not 0 <= dollars < inf:
        raise ValueError(
            f"cannot use {dollars!r} as the {name} price; it is a finite number >= 0"
        )
