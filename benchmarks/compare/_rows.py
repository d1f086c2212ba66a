"""The rows: what is done, so often, and what of it is told.

Every row tells the cost of one unit of work. A peer for which the whole count would
take minutes does fewer units, and its cell says so; a row about how long a
conversation is has no fewer.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs

Measure: TypeAlias = Literal["cpu", "wall", "memory"]
NOTHING: Mapping[str, int] = {}


@attrs.frozen(kw_only=True)
class Row:
    """One kind of work."""

    id: str
    """What the programs know it as."""
    title: str
    each: str
    """What the figure is of."""
    what: str
    """A sentence for the page."""
    count: int
    """Units of work; in a tree how many each agent calls."""
    smoke: int
    """The same when it is only tried."""
    measure: Measure = "cpu"
    fewer: Mapping[str, int] = NOTHING
    """Counts of peers that would take minutes."""
    harder_than: str = ""
    """A row of the same work but less of it: over the limit there, over it here."""

    @property
    def unit(self) -> str:
        """What the figure is in."""
        return "bytes" if self.measure == "memory" else "µs"

    def count_of(self, peer: str, scale: float) -> int:
        """How many units a peer does; `scale` times as many as usual, at least one."""
        count = self.fewer.get(peer, self.count)
        return max(1, round(count * scale))


_SLOW_COPIES = {
    "autogen-core": 200,
    "langgraph": 100,
    "pydantic-ai": 50,
    "openai-agents": 500,
}


def _turns(count: int, smoke: int, harder_than: str = "") -> Row:
    return Row(
        id=f"turns_{count}",
        title=f"{count:,} turns",
        each="a turn",
        what=(
            f"One conversation of {count:,} turns: a reply with one call, an async "
            "tool, its result. The model is a script."
        ),
        count=count,
        smoke=smoke,
        harder_than=harder_than,
    )


ROWS = (
    Row(
        id="ask",
        title="Ask",
        each="a request and its reply",
        what="One actor asks another and has its reply; nothing is recorded.",
        count=50_000,
        smoke=200,
        fewer={"pykka": 10_000, "autogen-core": 5_000},
    ),
    Row(
        id="record",
        title="Record",
        each="a message and its reply",
        what="The other actor adds the message to its conversation.",
        count=50_000,
        smoke=200,
        fewer={"pykka": 10_000, "autogen-core": 5_000},
    ),
    Row(
        id="spawn",
        title="Spawn",
        each="an actor",
        what="Actors are made and ended, one after the other.",
        count=20_000,
        smoke=100,
        fewer={"pykka": 2_000, "autogen-core": 5_000},
    ),
    Row(
        id="idle",
        title="Idle size",
        each="an idle actor",
        what="How much the process grows for an actor that waits with one message.",
        count=20_000,
        smoke=500,
        measure="memory",
        fewer={"pykka": 1_000, "autogen-core": 5_000, "langgraph": 5_000},
    ),
    _turns(200, 10),
    _turns(1_000, 20, "turns_200"),
    _turns(5_000, 30, "turns_1000"),
    Row(
        id="fleet",
        title="10,000 conversations",
        each="a conversation",
        what=(
            "Conversations at once, each with two calls and an answer, on a model that "
            "takes 100 ms."
        ),
        count=10_000,
        smoke=20,
        fewer={
            "pykka": 1_000,
            "autogen-core": 5_000,
            "langgraph": 1_000,
            "pydantic-ai": 1_000,
            "openai-agents": 1_000,
        },
    ),
    Row(
        id="fan_out",
        title="Fan-out of 1,000",
        each="an agent",
        what="One reply calls 1,000 agents; each answers, and usage adds up.",
        count=1_000,
        smoke=20,
    ),
    Row(
        id="tree",
        title="Tree of 10 × 10 × 10",
        each="an agent",
        what="An agent calls ten, each of which calls ten, each of which calls ten.",
        count=10,
        smoke=2,
    ),
    Row(
        id="cancel",
        title="Cancel 10,000",
        each="an agent",
        what="Agents that wait for the model are cancelled, until all have ended.",
        count=10_000,
        smoke=50,
        fewer={"langgraph": 2_000, "pydantic-ai": 2_000, "openai-agents": 2_000},
    ),
    Row(
        id="durable",
        title="Durable turns",
        each="a question with one call",
        what=(
            "50 conversations at once, each asked 20 times, kept in the peer's own "
            "SQLite store. Wall time: it is the disk that takes it."
        ),
        count=1_000,
        smoke=50,
        measure="wall",
    ),
    Row(
        id="snapshot",
        title="Snapshot",
        each="a snapshot",
        what="What a conversation of 1,000 messages is now, to keep.",
        count=5_000,
        smoke=20,
        fewer={**_SLOW_COPIES, "pydantic-ai": 5_000},
    ),
    Row(
        id="fork",
        title="Fork",
        each="a fork",
        what="A conversation of its own that begins as one of 1,000 messages is now.",
        count=5_000,
        smoke=20,
        fewer=_SLOW_COPIES,
    ),
    Row(
        id="restore",
        title="Restore",
        each="a restore",
        what="A conversation of 1,000 messages goes back to what it was.",
        count=5_000,
        smoke=20,
        fewer=_SLOW_COPIES,
    ),
    Row(
        id="encode",
        title="Encode",
        each="a message",
        what="A question, a reply with a call, its result, an answer: into bytes.",
        count=20_000,
        smoke=40,
    ),
    Row(
        id="decode",
        title="Decode",
        each="a message",
        what="The same, from bytes.",
        count=20_000,
        smoke=40,
    ),
)
