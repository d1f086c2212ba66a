"""The figures of a fleet: `python -m benchmarks.fleet [--smoke]`.

10,000 tasks of three turns each, two of them with a tool call, on a rule in place of
the model, every entry durable in a SQLite store. It runs in a process of its own, so
that its memory is its own. Before them smaller fleets go over HTTP, to a server on this
machine; `_loopback` says how they are counted. The exit code is 1 when a target is
missed; with `--smoke` the counts are so small that speed says little, and only what
must be exact counts.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import attrs

from actors import Agent, FunctionModel, Request, ToolCall, tool
from benchmarks._loopback import rows as rows_over_http
from benchmarks._measure import Row, show

TASKS = 10_000
SMOKE_TASKS = 100
HTTP_S = 8.0
HTTP_SMOKE_S = 0.5
TURNS = 3
TURNS_PER_S_MIN = 1_500
MEGABYTES_MAX = 400
# VmHWM and not getrusage: the latter's peak is inherited from the process that forks.
PROGRAM = """
import sys, time
from actors.cli import main
begin = time.perf_counter()
try:
    main(["fleet", "tasks.jsonl", "--agent", "benchmarks.fleet:agent", "--quiet"])
finally:
    print(time.perf_counter() - begin, time.process_time())
    print(open("/proc/self/status").read())
"""


@tool
async def look(place: str) -> str:
    """Look at a place."""
    return f"nothing at {place}"


def rule(request: Request) -> ToolCall | str:
    """Call the tool in the first turns, and answer in the last one."""
    turn = sum(message.role == "assistant" for message in request.messages)
    if turn < TURNS - 1:
        return ToolCall(id=f"c{turn}", name="look", args={"place": f"p{turn}"})
    return "Nothing anywhere."


agent = Agent(FunctionModel(rule, name="function/bench"), tools=[look])


@attrs.frozen
class Run:
    """What one run of the command came to."""

    seconds: float
    """From the start of the command to its end, imports left out."""
    cpu_s: float
    """Of both cores together, imports too: what others do here is not in it."""
    megabytes: float
    """The most memory it ever had."""
    done: int
    """Tasks with a result that says so."""
    requests: int
    """Requests that the results count together."""


def run_fleet(folder: Path) -> Run:
    """Run the command in a folder that has the tasks; a second time it continues."""
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=folder,
        env={"PYTHONPATH": str(Path(__file__).parents[1])},
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, cpu_s = map(float, process.stdout.splitlines()[0].split())
    peak = re.search(r"VmHWM:\s+(\d+)", process.stdout)
    assert peak is not None, "Linux says how much memory a process ever had"
    lines = (folder / "results.jsonl").read_text().splitlines()
    results = [json.loads(line) for line in lines]
    return Run(
        seconds,
        cpu_s,
        int(peak[1]) / 1024,
        sum(line["status"] == "done" for line in results),
        sum(line["usage"]["requests"] for line in results),
    )


def write_tasks(folder: Path, count: int) -> None:
    """Write the file of tasks."""
    rows = [{"id": f"task-{n}", "prompt": f"Look into {n}"} for n in range(count)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "tasks.jsonl").write_text(text)


def bare_turns_per_s(folder: Path, count: int) -> float:
    """Turns a second when each is nothing but two appended lines of JSON."""
    begin = perf_counter()
    with (folder / "bare.jsonl").open("w") as file:
        for turn in range(count):
            for kind in ("request", "reply"):
                file.write(json.dumps({"kind": kind, "turn": turn, "text": "x"}) + "\n")
    return count / (perf_counter() - begin)


def rows(count: int) -> list[Row]:
    """Run the fleet, and once more when all is done."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_tasks(folder, count)
        bare = bare_turns_per_s(folder, count * TURNS)
        first = run_fleet(folder)
        again = run_fleet(folder)
    turns = count * TURNS
    pace = turns / first.seconds
    exact = all((run.done, run.requests) == (count, turns) for run in (first, again))
    return [
        Row(
            figure=f"turns, {count:,} tasks x {TURNS}, SQLite store",
            target=f">= {TURNS_PER_S_MIN:,}/s",
            measured=f"{pace:,.0f}/s, {turns / first.cpu_s:,.0f} a second of CPU",
            holds=pace >= TURNS_PER_S_MIN,
            bare=f"{bare:,.0f}/s, x {bare / pace:,.0f}",
        ),
        Row(
            figure="most memory",
            target=f"<= {MEGABYTES_MAX} MB",
            measured=f"{first.megabytes:,.0f} MB",
            holds=first.megabytes <= MEGABYTES_MAX,
        ),
        Row(
            figure="the same again, when all is done",
            target="",
            measured=f"{again.seconds:,.1f} s, {again.megabytes:,.0f} MB",
            holds=True,
        ),
        Row(
            figure="every task done once, usage adds up",
            target="exact",
            measured="exact" if exact else f"{first}, {again}",
            holds=exact,
        ),
    ]


def main() -> None:
    """Show the table."""
    smoke = "--smoke" in sys.argv[1:]
    measured = rows(SMOKE_TASKS if smoke else TASKS)
    over_http = rows_over_http(HTTP_SMOKE_S if smoke else HTTP_S)
    well = show("A fleet", [*over_http, *measured])
    if smoke:
        well = measured[-1].holds
    raise SystemExit(0 if well else 1)


if __name__ == "__main__":
    main()
