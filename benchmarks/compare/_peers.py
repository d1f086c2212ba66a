"""The peers, and the environment that each is given."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]
PROGRAMS = "benchmarks.compare.peers"
ERLANG = "erlang"
OURS = "callboard"
BASE = "trio"
"""The peer that all are measured by."""


@attrs.frozen(kw_only=True)
class Peer:
    """Something that does the same work."""

    name: str
    """Its column."""
    module: str
    """Its program, in `PROGRAMS`."""
    packages: Sequence[str] = ()
    """What pip installs for it."""
    what: str
    """A line for the page."""
    by_hand: bool = False
    """Whether it knows nothing of conversations, so that they are lists."""


PEERS = (
    Peer(
        name=OURS,
        module="callboard_",
        packages=("-e", str(ROOT)),
        what="a State and what records, checks and supervises it",
    ),
    Peer(
        name=BASE,
        module="trio_",
        packages=("trio",),
        what="by hand: tasks, channels, lists of dicts; the measure of all",
        by_hand=True,
    ),
    Peer(
        name="asyncio",
        module="asyncio_",
        what="by hand: tasks, queues, lists of dicts",
        by_hand=True,
    ),
    Peer(
        name="pykka",
        module="pykka_",
        packages=("pykka",),
        what="an actor is a thread; conversations by hand",
        by_hand=True,
    ),
    Peer(
        name="autogen-core",
        module="autogen_core_",
        packages=("autogen-core",),
        what="routed agents, their runtime, tool agent and caller loop",
    ),
    Peer(
        name="langgraph",
        module="langgraph_",
        packages=("langgraph", "langgraph-checkpoint-sqlite"),
        what="a model node, a `ToolNode`, a saver in memory",
    ),
    Peer(
        name="pydantic-ai",
        module="pydantic_ai_",
        packages=("pydantic-ai-slim",),
        what="agents on a `FunctionModel`",
    ),
    Peer(
        name="openai-agents",
        module="openai_agents_",
        packages=("openai-agents",),
        what="the runner on a `Model`, tracing off",
    ),
    Peer(
        name=ERLANG,
        module="erlang_",
        what="by hand: processes, lists of maps",
        by_hand=True,
    ),
)


BY_HAND = {peer.name for peer in PEERS if peer.by_hand}


class NotInstalledError(Exception):
    """A peer cannot be had here; the text says why."""


def envs_folder() -> Path:
    """The folder of environments unless another is asked for."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "callboard" / "benchmarks"


def installed(peer: Peer, envs: Path) -> list[str]:
    """The command that runs the peer's program; its environment is made if need be.

    One that was made before is taken as it is: remove its folder to have newer
    versions. One that could not be made leaves nothing behind.

    Raises:
        NotInstalledError: it could not be made.
    """
    if peer.name == ERLANG:
        return _erlang()
    folder = envs / f"{peer.name}-{sys.version_info[0]}.{sys.version_info[1]}"
    wanted, done = "\n".join(peer.packages), folder / "installed.txt"
    if not done.exists() or done.read_text("utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        try:
            _make(folder, peer.packages)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        done.write_text(wanted, "utf-8")
    return here(peer, str(folder / "bin" / "python"))


def here(peer: Peer, python: str = sys.executable) -> list[str]:
    """The command that runs the peer's program in an environment that has all."""
    return [python, "-m", f"{PROGRAMS}.{peer.module}"]


def _make(folder: Path, packages: Sequence[str]) -> None:
    venv.create(folder, with_pip=True)
    if not packages:
        return
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", *packages]
    made = subprocess.run(pip, check=False, capture_output=True, text=True)
    if made.returncode:
        said = made.stderr.strip().splitlines() or ["pip said nothing"]
        raise NotInstalledError(f"could not be installed: {said[-1]}")


def _erlang() -> list[str]:
    escript = shutil.which("escript")
    if escript is None:
        raise NotInstalledError("there is no escript; Debian has it in erlang-base")
    return [escript, str(Path(__file__).parent / "peers" / "erlang_.escript")]


def surroundings() -> Mapping[str, str]:
    """The variables of a program: whatever peers would report to others is off."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "AUTOGEN_DISABLE_RUNTIME_TRACING": "true",
        "LANGSMITH_TRACING": "false",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
    }
