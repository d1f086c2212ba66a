"""Context windows and list prices of well-known models.

A convenience, no promise: providers change prices, so a model's own `price=` and
`context_window=` come first, and what is not in the table is unknown, never guessed.
Models whose price depends on the length of a request are left out: one number for a
token would be wrong for them.
"""

import re

from protocol import Price

MILLION = 1_000_000

FREE = Price(0.0, 0.0)


def _cached(input: float, output: float, read: float = 0.1) -> Price:
    """Return a price of Anthropic's: what reading the cache costs is a share of it."""
    return Price(input, output, input * read, input * 1.25)


# By the longest beginning of "provider/model" that fits. Prices in dollars for a
# million tokens: input, output, cache read. The window of a family is its smallest.
_KNOWN: dict[str, tuple[int | None, Price | None]] = {
    "anthropic/claude-": (200_000, None),
    "anthropic/claude-fable-5": (MILLION, _cached(10.0, 50.0)),
    "anthropic/claude-fable-5-1": (MILLION, _cached(10.0, 50.0, 0.025)),
    "anthropic/claude-haiku-4-5": (200_000, _cached(1.0, 5.0)),
    "anthropic/claude-haiku-5": (MILLION, None),
    "anthropic/claude-opus-4-1": (200_000, _cached(15.0, 75.0)),
    "anthropic/claude-opus-4-5": (200_000, _cached(5.0, 25.0)),
    "anthropic/claude-opus-5": (MILLION, _cached(5.0, 25.0)),
    "anthropic/claude-opus-5-5": (MILLION, _cached(4.0, 20.0, 0.05)),
    "anthropic/claude-sonnet-4-5": (200_000, _cached(3.0, 15.0)),
    "anthropic/claude-sonnet-5": (MILLION, _cached(2.0, 10.0)),
    "anthropic/claude-sonnet-5-5": (MILLION, _cached(2.0, 10.0, 0.05)),
    "google/gemini-": (1_048_576, None),
    "google/gemini-2.5-flash": (1_048_576, Price(0.3, 2.5, 0.03)),
    "google/gemini-2.5-flash-lite": (1_048_576, Price(0.1, 0.4, 0.01)),
    "ollama/": (None, FREE),
    "openai/gpt-4.1": (1_047_576, Price(2.0, 8.0, 0.5)),
    "openai/gpt-4.1-mini": (1_047_576, Price(0.4, 1.6, 0.1)),
    "openai/gpt-4.1-nano": (1_047_576, Price(0.1, 0.4, 0.025)),
    "openai/gpt-4o": (128_000, Price(2.5, 10.0, 1.25)),
    "openai/gpt-4o-mini": (128_000, Price(0.15, 0.6, 0.075)),
    "openai/gpt-5": (400_000, Price(1.25, 10.0, 0.125)),
    "openai/gpt-5.1": (400_000, Price(1.25, 10.0, 0.125)),
    "openai/gpt-5-mini": (400_000, Price(0.25, 2.0, 0.025)),
    "openai/gpt-5-nano": (400_000, Price(0.05, 0.4, 0.005)),
}

# What may follow a name without naming another model.
_SAME_MODEL = re.compile(r"(?:-\d{8}|-\d{4}-\d\d-\d\d|-latest)?")


def known(name: str) -> tuple[int | None, Price | None]:
    """Return the context window and the price of a model, None for what is unknown.

    Args:
        name: `"provider/model"`; a date or `-latest` after the model is fine. Another
            word after it is another model, whose price is not known.
    """
    for end in range(len(name), 0, -1):
        entry = _KNOWN.get(name[:end])
        if entry is not None:
            window, price = entry
            same = price is FREE or _SAME_MODEL.fullmatch(name, end)
            return window, price if same else None
    return None, None
