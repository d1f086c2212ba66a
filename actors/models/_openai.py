"""OpenAI's chat completions, and the many servers that speak them too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from ._openai_reply import OpenAIPieces
from ._openai_request import body_of
from ._wire_model import WireModel

if TYPE_CHECKING:
    from protocol import Reply

    from ._model import Request

OPENAI_URL = "https://api.openai.com/v1"

# Only to the address of their own provider: a key must never reach another server.
_KEY_VARIABLES = {
    OPENAI_URL: ("OPENAI_API_KEY",),
    "https://generativelanguage.googleapis.com/v1beta/openai": (
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
    ),
}


@attrs.frozen(eq=False, repr=False)
class OpenAICompatible(WireModel):
    """A model behind OpenAI's chat completions: OpenAI, vLLM, Ollama, llama.cpp, ...

    Building one touches no network and needs no key. Streams only when somebody
    listens. Reasoning that a server shows is sent back to it.

    Args:
        model: The server's name of the model.
        base_url: The address up to and with `/v1`.
        provider: The first part of the model's `name`.
        api_key: The key. Left out, OpenAI and Google look into the environment when a
            request is sent; any other server is asked without a key.
        client: An `openai.AsyncOpenAI` (or a relative of it), whose keys and address
            then count, or an `httpx2.AsyncClient`.

    Raises:
        TypeError: A setting is of the wrong type.
        ValueError: A setting cannot work; the text says what does.
    """

    base_url: str = attrs.field(
        default=OPENAI_URL,
        kw_only=True,
        validator=attrs.fields(WireModel).base_url.validator,
    )
    provider: str = attrs.field(
        default="openai",
        kw_only=True,
        validator=attrs.fields(WireModel).provider.validator,
    )

    sdk: ClassVar[str] = "openai"
    sdk_method: ClassVar[str] = "chat.completions"
    sdk_fields: ClassVar[frozenset[str]] = frozenset({"messages", "model", "stream"})
    path: ClassVar[str] = "/chat/completions"

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The environment variables of this address; none for a server of your own."""
        return _KEY_VARIABLES.get(self.base_url.rstrip("/"), ())

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the header that carries the key, if there is one."""
        return {} if key is None else {"authorization": f"Bearer {key}"}

    def body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        """Return the body of a request for a chat completion."""
        body = {"model": self.model, **body_of(request, self.provider)}
        if stream:
            body["stream"] = True
            body["stream_options"] = {"include_usage": True}
        return {**body, **self.params}

    def read(self, data: bytes) -> Reply:
        """Return the reply of a whole answer."""
        return OpenAIPieces(self.provider, self.name).read(data)

    def pieces(self) -> OpenAIPieces:
        """Return a new, empty stream of chunks."""
        return OpenAIPieces(self.provider, self.name)
