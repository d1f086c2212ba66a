"""Context windows and list prices of well-known models.

A convenience, no promise: providers change prices, so a model's own `price=` and
`context_window=` come first, and what is not in the table is unknown, never guessed.
"""

from protocol import Price

FREE = Price(0.0, 0.0)

# By the longest prefix of "provider/model" that fits. Prices in dollars for a million
# tokens: input, output, read from the cache, written to the cache.
_KNOWN: dict[str, tuple[int | None, Price | None]] = {
    "anthropic/claude-": (200_000, None),
    "anthropic/claude-3-5-haiku": (200_000, Price(0.8, 4.0, 0.08, 1.0)),
    "anthropic/claude-3-5-sonnet": (200_000, Price(3.0, 15.0, 0.3, 3.75)),
    "anthropic/claude-3-7-sonnet": (200_000, Price(3.0, 15.0, 0.3, 3.75)),
    "anthropic/claude-haiku-4-5": (200_000, Price(1.0, 5.0, 0.1, 1.25)),
    "anthropic/claude-opus-4-1": (200_000, Price(15.0, 75.0, 1.5, 18.75)),
    "anthropic/claude-opus-4-5": (200_000, Price(5.0, 25.0, 0.5, 6.25)),
    "anthropic/claude-sonnet-4-": (200_000, Price(3.0, 15.0, 0.3, 3.75)),
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
    "openai/gpt-5-mini": (400_000, Price(0.25, 2.0, 0.025)),
    "openai/gpt-5-nano": (400_000, Price(0.05, 0.4, 0.005)),
}


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
            same = name[end - 1] in "-/" or _is_version(name[end:])
            return window, price if same else None
    return None, None


def _is_version(rest: str) -> bool:
    words = rest.split("-")
    return words[0] == "" and all(w.isdigit() or w == "latest" for w in words[1:])
