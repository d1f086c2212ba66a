"""What lies outside of all processes: the disk, the providers, and what has happened.

1. It outlives every process and knows what each did, so that nothing that was done
   twice, lost or invented stays unseen.
2. Whatever is wrong is noted, and the run ends; nothing is raised into the runtime.
"""

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any

import attrs
import trio

from actors.testing import SimulatedDisk, crash_disk
from protocol import Usage
from protocol._codec import decode_entry
from protocol._work_entries import CallStartEntry

from .reached import reached
from .settings import Settings

if TYPE_CHECKING:
    from actors._limits import Account
    from actors._node import Node
    from actors._run_node import RunNode

    from .process import Process


class Conversation:
    """What a person wants of one root State, whatever becomes of processes."""

    def __init__(self, name: str, prompts: int) -> None:
        self.id = name
        self.prompts = [f"{name} question {number}" for number in range(prompts)]
        self.given_up = False
        """Its State was finished or closed for good: nothing more is asked."""


@attrs.define
class Spent:
    """What the requests below one limit came to, as their model counts it."""

    requests: list[Any] = attrs.field(factory=list)
    tokens: int = 0


class World:
    """Everything but the processes, and what they are judged by."""

    def __init__(self, seed: int, settings: Settings) -> None:
        self.seed = seed
        self.settings = settings
        self.random = Random(f"world {seed}")
        self.files: SimulatedDisk = crash_disk(seed)
        self.disk_fault: Any = None
        """What is wrong with the disk for a while: ``full`` or ``broken``."""
        self.troubled = True
        self.calm = trio.Event()
        """Set when no more faults come."""
        self.conversations = [
            Conversation(f"c{number}", settings.prompts)
            for number in range(settings.conversations)
        ]
        self.processes: list[Process] = []
        self.faults: list[str] = []
        self.scope = trio.CancelScope()
        self.trace: list[str] = []
        self.printing = False
        self.begun: dict[str, list[int]] = defaultdict(list)
        """The processes in which the tool of a call began, by the call's key."""
        self.durable: dict[str, list[bytes]] = defaultdict(list)
        """Of each State what was acknowledged, or found by who wrote it."""
        self.unsure: set[str] = set()
        """States with a write that the disk neither confirmed nor let be taken back.

        It stands in memory only, where other processes read it and write behind it: a
        loss of power then leaves a hole in the log, which no store can prevent.
        """
        self.started: set[str] = set()
        """Keys of calls whose start is durable."""
        self.spent: dict[Account, Spent] = {}

    def process_of(self, node: "Node") -> "Process":
        """The process in which something runs."""
        for process in self.processes:
            if getattr(process, "supervisor", None) is node.supervisor:
                return process
        raise AssertionError("a node of no process")

    # What is told

    def log(self, who: str, what: str) -> None:
        """Note a step."""
        line = f"{trio.current_time():9.3f}  {who:<12} {what}"
        self.trace.append(line)
        if self.printing:
            print(line)

    def fault(self, what: str) -> None:
        """Something that must be true is not: note it, and end the run."""
        self.log("FAULT", what)
        self.faults.append(what)
        self.scope.cancel()

    def must(self, truth: object, what: str) -> None:
        if not truth:
            self.fault(what)

    # Chance

    def trouble(self, share: float) -> bool:
        """Whether something goes wrong now."""
        return self.troubled and self.random.random() < share

    async def pause(self) -> None:
        """Nothing, some steps, or some time."""
        kind = self.random.random()
        if kind < 0.4:
            await trio.lowlevel.checkpoint()
        elif kind < 0.6:
            for _ in range(self.random.randrange(6)):
                await trio.lowlevel.checkpoint()
        elif kind < 0.8:
            await trio.sleep(self.random.choice((0.01, 0.3, 1.0)))

    # What is durable

    def written(self, state_id: str, entries: Sequence[bytes], expected: int) -> None:
        """A write was acknowledged."""
        known = self.durable[state_id]
        if expected > len(known):
            self.fault(f"{state_id}: a write left a gap before entry {expected}")
            return
        for index, entry in enumerate(entries, expected):
            if index == len(known):
                self._learn(known, entry)
            elif known[index] != entry:
                self.fault(f"{state_id}: entry {index} was acknowledged twice")

    def seen(self, state_id: str, entries: Sequence[bytes], *, own: bool) -> None:
        """A whole record was read; by its ``own`` writer, who builds on it."""
        known = self.durable[state_id]
        if list(entries[: len(known)]) != known:
            self.fault(
                f"{state_id}: {len(known)} entries were acknowledged, and are not the "
                f"first of the {len(entries)} entries read now"
            )
            return
        for entry in entries[len(known) :] if own else ():
            self._learn(known, entry)

    def _learn(self, known: list[bytes], entry: bytes) -> None:
        known.append(entry)
        decoded = decode_entry(entry)
        if isinstance(decoded, CallStartEntry):
            self.started.add(decoded.content)

    # What has happened

    def begin(self, key: str, process: int, *, again: bool, stored: bool) -> None:
        """The tool of a call begins to run."""
        before = self.begun[key]
        if again and before and before[-1] != process:
            reached("an idempotent call ran again")
        self.must(again or not before, f"{key} began before, in {before}")
        before.append(process)
        known = key in self.started or not stored
        self.must(known, f"{key} runs, and its start is not durable")

    def asked(self, run: "RunNode", request: object) -> None:
        """A request reached a model: no limit above may be overrun (P10)."""
        for account in run.accounts:
            spent = self.spent.setdefault(account, Spent())
            if any(request is earlier for earlier in spent.requests):
                continue  # tried again by the gate, which counts as one
            spent.requests.append(request)
            limits = account.limits
            over = limits.requests is not None and (
                len(spent.requests) > limits.requests
            )
            self.must(not over, f"{account.owner}: more than {limits.requests} asked")
            gone = limits.tokens is not None and spent.tokens >= limits.tokens
            self.must(not gone, f"{account.owner}: asks, and its tokens are spent")

    def delivered(self, run: "RunNode", usage: Usage) -> None:
        """A reply is handed over."""
        for account in run.accounts:
            self.spent[account].tokens += usage.total_tokens
