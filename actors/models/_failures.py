"""What went wrong at a provider, as one of four errors.

1. The class says what to do: mend the key, wait, compact, or look at the text.
2. `transient` says whether the same request may succeed later. Text that was shown
   ends that: a second try would show it twice.
"""

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn, cast

import msgspec

from protocol import AuthError, ContextTooLongError, ProviderError, RateLimitError

_TOLD_CHARACTERS_MAX = 500
"""Of a provider's own words; a proxy may answer with a whole page."""

# 408 and 409: ask again; 425: too early; 5xx, 529 among them: the provider's own fault.
_TRANSIENT = frozenset({408, 409, 425})

# Anthropic tells errors in a stream by these words instead of by a status.
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}

# Codes and phrases, in lower case, of all providers and servers that say it apart.
_TOO_LONG = (
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context window",
    "context length",
    "context size",
    "prompt is too long",
    "input is too long",
    "input token count",
    "request_too_large",
)

_NEVER_CONNECTED = ("ConnectError", "ConnectTimeout")

# A 429 that no waiting mends: the account has no money left.
_NO_QUOTA = ("insufficient_quota", "billing_hard_limit_reached")


def refusal(
    provider: str, status: int, body: bytes, headers: Mapping[str, str]
) -> ProviderError:
    """Return the error for a response that is none: its status says that it failed."""
    told = _told(body) or f"no reason given (HTTP {status})"
    return _error(provider, status, told, _retry_after_s(headers))


def refusal_in_stream(provider: str, error: object) -> ProviderError:
    """Return the error for one that came as an event, after the stream had begun."""
    fields = _as_dict(error)
    status = fields.get("code")
    if not isinstance(status, int):
        status = _STATUS_OF_TYPE.get(str(fields.get("type")), 500)
    return _error(provider, status, _words(error), None)


def lost(provider: str, error: Exception) -> ProviderError:
    """Return the error for a connection that failed, at whatever moment."""
    told = str(error) or type(error).__name__
    never = any(
        type(each).__name__ in _NEVER_CONNECTED for each in (error, error.__cause__)
    )
    what = "cannot connect to" if never else "lost the connection to"
    return ProviderError(f"{what} {provider}: {told}", transient=True)


def unreadable(provider: str, data: bytes, error: Exception) -> ProviderError:
    """Return the error for what cannot be decoded, `data`."""
    shown = data[:80].decode("utf-8", "replace")
    return ProviderError(
        f"cannot read the answer of {provider}, {shown!r}: {error}", transient=True
    )


def broken_off(provider: str) -> ProviderError:
    """Return the error for a stream that ended before it said why it ends."""
    return ProviderError(
        f"the answer of {provider} broke off: its stream ended without a finish"
        " reason, so what came of it does not count",
        transient=True,
    )


def raise_known(provider: str, error: Exception) -> NoReturn:
    """Raise `error`, as a ProviderError if it tells of the provider or the way to it.

    Errors of httpx2 and of the official SDKs are known by where their classes come
    from, so that none of these packages is loaded here.
    """
    if isinstance(error, ProviderError):
        raise error
    homes = {base.__module__.partition(".")[0] for base in type(error).__mro__}
    if not homes & {"httpx2", "httpcore2", "openai", "anthropic"}:
        raise error
    response: Any = getattr(error, "response", None)
    status = getattr(error, "status_code", None)
    if response is not None and isinstance(status, int) and status >= 400:
        raise refusal(provider, status, response.content, response.headers) from error
    raise lost(provider, error) from error


def _error(
    provider: str, status: int, told: str, retry_after_s: float | None
) -> ProviderError:
    text = f"{provider} refused the request ({status}): {told}"
    lower = told.lower()
    if status in {401, 403}:
        return AuthError(f"{text}; check the key and what it may do", status=status)
    if status == 413 or (400 <= status < 500 and _names_one(lower, _TOO_LONG)):
        return ContextTooLongError(text, status=status)
    kind = ProviderError
    if status == 429 and not _names_one(lower, _NO_QUOTA):
        kind = RateLimitError
    return kind(
        text,
        status=status,
        retry_after_s=retry_after_s,
        transient=kind is RateLimitError or status >= 500 or status in _TRANSIENT,
    )


def _names_one(text: str, phrases: tuple[str, ...]) -> bool:
    return any(phrase in text for phrase in phrases)


def _told(body: bytes) -> str:
    try:
        answer: object = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body.decode("utf-8", "replace").strip()[:_TOLD_CHARACTERS_MAX]
    if isinstance(answer, list):  # so Google's compatible endpoint answers
        return _reason(next(iter(cast("list[object]", answer)), None))
    return _reason(answer)


def _reason(answer: object) -> str:
    fields = _as_dict(answer)
    return _words(fields.get("error") or fields.get("detail") or answer)


def _words(error: object) -> str:
    """Say an error body in one line: its code and its message, where it has them."""
    fields = _as_dict(error)
    code = fields.get("code") or fields.get("type")
    message = fields.get("message") or (error if isinstance(error, str) else None)
    if message is None:
        message = msgspec.json.encode(error).decode() if error else ""
    parts = [str(code)] if isinstance(code, str) and code else []
    return ": ".join([*parts, str(message)])[:_TOLD_CHARACTERS_MAX]


def _as_dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read how long to wait: in milliseconds (OpenAI), in seconds, or until a date."""
    exact = _number(headers.get("retry-after-ms"))
    if exact is not None:
        return exact / 1000
    given = headers.get("retry-after")
    seconds = _number(given)
    if seconds is not None or given is None:
        return seconds
    try:
        at = parsedate_to_datetime(given)
    except ValueError:
        return None
    return max(0.0, at.timestamp() - time.time())


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
