"""Models by name.

1. The word before the first slash says who is meant; `claude-`, `gpt-` and `gemini-`
   say it without.
2. Any other name needs the address of a server, `base_url`, and is asked there in
   OpenAI's form.
"""

from typing import Any

from ._anthropic import ANTHROPIC_URL, Anthropic
from ._channel import is_sdk_client
from ._model import Model
from ._openai import OPENAI_URL, OpenAICompatible

GOOGLE_URL = "https://generativelanguage.googleapis.com/v1beta/openai"
"""Google's own endpoint in OpenAI's form."""

OLLAMA_URL = "http://localhost:11434/v1"

COMPATIBLE = "compatible"
"""The provider in the name of a model that only its address tells about."""

_URLS = {
    "anthropic": ANTHROPIC_URL,
    "google": GOOGLE_URL,
    "ollama": OLLAMA_URL,
    "openai": OPENAI_URL,
}

_BEGINNINGS = {"claude-": "anthropic", "gemini-": "google", "gpt-": "openai"}

_WAYS = (
    "write 'anthropic/NAME' or 'claude-...', 'openai/NAME' or 'gpt-...', 'google/NAME'"
    " or 'gemini-...', 'ollama/NAME', or give base_url= for a server of your own"
)


def as_model(
    model: Model | str, *, base_url: str | None = None, client: Any = None
) -> Model:
    """Return the model that is meant; touches no network and needs no key.

    Args:
        model: A model, which comes back as it is, or a name.
        base_url: Where the model is, in place of its provider's own address.
        client: As of the model's class.

    Raises:
        TypeError: `model` is neither, or `client` does not fit it.
        ValueError: The name names no model, or a model came with settings that belong
            into it.
    """
    if isinstance(model, Model):
        return _checked(model, base_url, client)
    theirs = [name for name in ("anthropic", "openai") if is_sdk_client(client, name)]
    provider, name = _parted(_text(model), known=bool(base_url or theirs))
    if not name.strip():
        raise ValueError(f"{model!r} names no model: {_WAYS}")
    if provider == COMPATIBLE and theirs == ["anthropic"]:
        provider = "anthropic"
    url = base_url or _URLS.get(provider, OPENAI_URL)
    if provider == "anthropic":
        return Anthropic(name, base_url=url, client=client)
    return OpenAICompatible(name, base_url=url, provider=provider, client=client)


def _text(model: object) -> str:
    if isinstance(model, str):
        return model
    raise TypeError(
        f"a model is a Model or its name, got {model!r}; for a rule of your own write"
        " FunctionModel(fn)"
    )


def _checked(model: Model, base_url: str | None, client: Any) -> Model:
    for setting, value in (("base_url", base_url), ("client", client)):
        if value is not None:
            raise ValueError(
                f"{setting}= goes with the name of a model, and {model!r} is made"
                f" already; give it {setting} where it is made"
            )
    name: object = getattr(model, "name", None)
    if not isinstance(name, str) or not name:
        raise TypeError(
            f"{type(model).__name__} has no name; set name = 'provider/name' on the"
            " class or on each object"
        )
    return model


def _parted(model: str, *, known: bool) -> tuple[str, str]:
    """Return provider and name.

    Args:
        model: As the user wrote it.
        known: Whether the address is known from elsewhere.
    """
    provider, slash, name = model.partition("/")
    if slash and provider in _URLS:
        return provider, name
    for beginning, owner in _BEGINNINGS.items():
        if model.startswith(beginning):
            return owner, model
    if known:
        return COMPATIBLE, model
    raise ValueError(f"{model!r} names no model that is known: {_WAYS}")
