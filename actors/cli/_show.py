"""`callboard show`: what is in a store, and one conversation as a person reads it."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import click
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from actors import Message, Saved, State, Store, StoreDamaged, ToolResultBlock, Usage
from actors.report._status import status_of

from ._console import console_of_results
from ._open_store import opened

_DAMAGED = "[red]damaged[/]"
_NUMBERS = frozenset({"turns", "entries", "tokens", "cost"})
_WHOLE = frozenset({"id", "updated (UTC)"})
_LEFT_OUT = ("entries", "updated (UTC)", "tokens", "cost", "turns")
"""What a narrow terminal has no room for, the least missed first."""
_TITLE_CELLS_MIN = 16
_GAP_CELLS = 3
_TREE_ROWS_MAX = 200
_RESULT_CHARACTERS_MAX = 2_000


@click.command(short_help="Show the States in a store, or one with all below it.")
@click.argument("store", callback=opened)
@click.argument("state_id", metavar="[ID]", required=False)
@click.option("--agent", help="Only States that this agent ran last.")
@click.option("--parent", help="Only children of this State.")
@click.option(
    "--phase", type=click.Choice(["idle", "thinking", "calling"]), help="Only these."
)
@click.option(
    "--finished/--open",
    default=None,
    help="Only those that take no more runs, or others.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="How many rows at most.",
)
def show(
    store: Store, state_id: str | None, limit: int, finished: bool | None, **asked: Any
) -> None:
    """Show the States in STORE, or the conversation, tree and usage of ID.

    STORE is the folder of a FileStore, the file of a SQLiteStore, or a postgresql://
    address.
    """
    console = console_of_results()
    filters = {name: value for name, value in asked.items() if value is not None}
    if finished is not None:
        filters["finished"] = finished
    with store:
        try:
            if state_id is None:
                found = store.list(limit=limit, **filters)
                console.print(_list(store, found, console.width))
            else:
                _show_state(console, store, state_id)
        except LookupError as fault:
            raise click.ClickException(
                f"the store has no State {state_id!r}: 'callboard show STORE' without "
                f"an ID lists those it has"
            ) from fault
        except (ValueError, OSError, StoreDamaged) as fault:
            raise click.ClickException(str(fault)) from fault


def _list(store: Store, found: Iterable[Saved], width: int) -> Table | str:
    """The States as rows; where they are too wide, columns are left out."""
    rows = [_row(store, saved) for saved in found]
    if not rows:
        return "no State is there, or none of those that are asked for"
    wide = {
        name: max(
            len(name), *(cell_len(Text.from_markup(row[name]).plain) for row in rows)
        )
        for name in rows[0]
    }
    full = wide["title"]
    wide["title"] = min(full, _TITLE_CELLS_MIN)
    for name in _LEFT_OUT:
        if _cells(wide) > width:
            del wide[name]
    room = wide["title"] + width - _cells(wide)
    table = _table()
    for name, cells in wide.items():
        table.add_column(
            name,
            justify="right" if name in _NUMBERS else "left",
            overflow="fold",
            no_wrap=name in _WHOLE and cells <= width // 2,
        )
    if full > room and not any(row["status"] == _DAMAGED for row in rows):
        title = table.columns[list(wide).index("title")]
        title.no_wrap, title.overflow = True, "ellipsis"
        title.max_width = max(room, _TITLE_CELLS_MIN)
    for row in rows:
        table.add_row(*(row[name] for name in wide))
    return table


def _table() -> Table:
    return Table(box=box.SIMPLE, show_edge=False, pad_edge=False)


def _cells(wide: Mapping[str, int]) -> int:
    """How wide a table with columns of these widths is."""
    return sum(wide.values()) + _GAP_CELLS * (len(wide) - 1)


def _row(store: Store, saved: Saved) -> dict[str, str]:
    """What is told of a State, as markup, by the name of its column."""
    info = saved.info
    return {
        "id": escape(saved.id),
        "agent": escape(info.get("agent") or ""),
        "status": _DAMAGED if saved.damage else _status(store, saved.id, info),
        "title": escape(saved.damage or info.get("title") or ""),
        "turns": f"{info.get('turn', 0):,}",
        "entries": f"{info.get('entries', 0):,}",
        "tokens": f"{_tokens(info):,}",
        "cost": _dollars(info.get("cost")),
        "updated (UTC)": _moment(info.get("updated")),
    }


def _status(store: Store, state_id: str, info: Mapping[str, Any]) -> str:
    """How a State stands; one that has run and has no stop is looked into."""
    if info.get("questions"):
        return "[yellow]waits for an answer[/]"
    if info.get("finished"):
        return "finished"
    stopped = info.get("stopped")
    if stopped is not None:
        kind = stopped.removeprefix("StoppedBy").lower()
        return "done" if kind == "until" else f"[yellow]stopped by {kind}[/]"
    phase = str(info.get("phase") or "")
    if phase != "idle" or not (info.get("agent") or info.get("model")):
        return phase
    try:
        ended, _ = _ended(store.load(state_id))
    except (LookupError, StoreDamaged):
        return phase  # it went, or broke, a moment ago
    return f"[red]{ended}[/]" if ended else phase


def _ended(state: State) -> tuple[str, str]:
    """That a run failed or was cancelled, and why; nothing when it may go on."""
    status, why = status_of(state, None)
    return (status, why) if status in ("failed", "cancelled") else ("", "")


def _tokens(info: Mapping[str, Any]) -> int:
    return int(info.get("input_tokens") or 0) + int(info.get("output_tokens") or 0)


def _dollars(cost: float | None) -> str:
    return "?" if cost is None else f"${cost:,.4f}"


def _moment(seconds: float | None) -> str:
    if not seconds:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _show_state(console: Console, store: Store, state_id: str) -> None:
    state = store.load(state_id)
    info = store.read(state_id)
    assert info is not None, "it was just loaded"
    facts = info.info
    line = f"State {state_id}: {facts.get('agent') or 'no agent'}"
    line += f" on {facts.get('model') or 'no model'}, turn {state.turn}, {state.phase}"
    if state.finished:
        line += ", finished"
    ended, why = _ended(state)
    if ended:
        line += f", {ended}: {why}"
    console.print(line, markup=False, highlight=False)
    if state.parent_id is not None:
        console.print(f"child of {state.parent_id}", markup=False, highlight=False)
    if state.forked_from is not None:
        origin = state.forked_from
        text = f"forked from {origin.id} after {origin.entries} entries"
        console.print(text, markup=False, highlight=False)
    console.print()
    _show_conversation(console, state)
    _show_tree(console, store, state_id, facts)
    _show_usage(console, state.usage)


def _show_conversation(console: Console, state: State) -> None:
    for message in state.messages:
        _show_message(console, message, "")
    for message in state.held_messages:
        _show_message(console, message, " (held)")
    for call in state.pending_calls:
        console.print(f"pending: {call.name} ({call.id})", markup=False)
    for question in state.questions:
        console.print(f"open question {question.id}: {question.prompt}", markup=False)
    if state.stopped is not None:
        console.print(f"stopped: {state.stopped!r}", markup=False)
    console.print()


def _show_message(console: Console, message: Message, mark: str) -> None:
    for who, text in _parts(message):
        console.print(f"{who}{mark}", style="bold", markup=False, highlight=False)
        for line in text.splitlines() or [""]:
            console.print(f"  {line}", markup=False, highlight=False)


def _parts(message: Message) -> Iterator[tuple[str, str]]:
    """Who says what: the text of a message, each call, each result."""
    results = [b for b in message.content if isinstance(b, ToolResultBlock)]
    if results:
        for block in results:
            text = str(block.output)[:_RESULT_CHARACTERS_MAX]
            yield f"result of {block.name or block.call_id}", text
        return
    others = [b.type for b in message.content if b.type not in {"text", "tool_call"}]
    text = message.text() + "".join(f" [{kind}]" for kind in others)
    if text.strip() or not message.tool_calls:
        yield message.role, text
    for call in message.tool_calls:
        yield f"calls {call.name}", repr(dict(call.args))


def _show_tree(
    console: Console, store: Store, state_id: str, info: Mapping[str, Any]
) -> None:
    """The States that its calls started, and theirs, as far as they are here."""
    root = Tree(_leaf(store, state_id, info))
    waiting, rows = [(state_id, root)], 0
    while waiting and rows < _TREE_ROWS_MAX:
        parent, branch = waiting.pop(0)
        for child in reversed(store.list(parent=parent, limit=_TREE_ROWS_MAX)):
            if child.damage is None and child.id != parent:
                rows += 1
                leaf = branch.add(_leaf(store, child.id, child.info))
                waiting.append((child.id, leaf))
    if rows:
        console.print(root)
    if rows >= _TREE_ROWS_MAX:
        console.print("and more")


def _leaf(store: Store, state_id: str, info: Mapping[str, Any]) -> str:
    parts = [escape(info.get("agent") or "-"), _status(store, state_id, info)]
    parts += [f"{_tokens(info):,} tokens", _dollars(info.get("cost"))]
    return f"{escape(state_id)}  [dim]{', '.join(parts)}[/]"


def _show_usage(console: Console, usage: Usage) -> None:
    table = _table()
    table.add_column("usage", overflow="fold")
    for heading in ("requests", "input", "output", "cache read", "cache write", "cost"):
        table.add_column(heading, justify="right")
    for name, part in [*usage.by_model.items(), ("all", usage)]:
        table.add_row(
            escape(name),
            f"{part.requests:,}",
            f"{part.input_tokens:,}",
            f"{part.output_tokens:,}",
            f"{part.cache_read_tokens:,}",
            f"{part.cache_write_tokens:,}",
            _dollars(part.cost),
        )
    console.print(table)
