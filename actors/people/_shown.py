"""Values as a person reads them at a terminal."""

from protocol import ContentBlock, ToolCall, Usage
from protocol._json import thaw

ARGS_CHARACTERS_MAX = 400
"""Of the arguments of a call, as many are shown: a screenful, not a file."""

LINE_CHARACTERS_MAX = 200
"""Of a result, as many are shown: two lines of a usual terminal."""

# What moves the cursor, colours, or turns text around could make one call look like
# another one to the person who is asked about it. Tab and line feed stay.
_CONTROLS = dict.fromkeys(
    [*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "�"
) | {0x09: "\t", 0x0A: "\n", 0x0D: ""}


def clean(text: str) -> str:
    """Text that only shows: without anything that a terminal would obey."""
    return text.translate(_CONTROLS)


def one_line(text: str, characters_max: int = LINE_CHARACTERS_MAX) -> str:
    """The text in one line, shortened."""
    line = " ".join(clean(text).split())
    return line if len(line) <= characters_max else f"{line[: characters_max - 1]}…"


def call_text(call: ToolCall, characters_max: int = ARGS_CHARACTERS_MAX) -> str:
    """A call as one would write it: ``read(path='a.txt')``; says what it leaves out."""
    args = ", ".join(f"{name}={thaw(value)!r}" for name, value in call.args.items())
    if len(args) > characters_max:
        args = f"{args[:characters_max]}… ({len(args):,} characters)"
    return clean(f"{call.name}({args})")


def content_text(content: str | tuple[ContentBlock, ...]) -> str:
    """The text of a result; other blocks by their type."""
    if isinstance(content, str):
        return content
    return " ".join(b.text if b.type == "text" else f"[{b.type}]" for b in content)


def count_text(count: int) -> str:
    """A count in few characters: 950, 3.1k, 12M."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            short = count / size
            return f"{short:.1f}{unit}" if short < 10 else f"{short:.0f}{unit}"
    return str(count)


def time_text(seconds: float) -> str:
    """A duration: 0:07, 12:34, 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def usage_text(usage: Usage) -> str:
    """Requests, tokens and cost; an unknown cost is left out."""
    requests = "1 request" if usage.requests == 1 else f"{usage.requests:,} requests"
    parts = [requests, f"{count_text(usage.total_tokens)} tokens"]
    if usage.cost:
        parts.append(f"${usage.cost:,.4f}" if usage.cost < 1 else f"${usage.cost:,.2f}")
    return " · ".join(parts)
