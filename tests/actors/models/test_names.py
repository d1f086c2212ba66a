"""Models by name, and settings that cannot work."""

from typing import Any

import httpx2
import pytest

from actors import Anthropic, AuthError, FunctionModel, Model, OpenAICompatible, Price
from actors.models import as_model
from actors.models._known import known
from tests.actors.models.server import ask

LOCAL = "http://localhost:8000/v1"


@pytest.mark.parametrize(
    ("given", "kind", "name", "address"),
    [
        ("claude-x", Anthropic, "anthropic/claude-x", "https://api.anthropic.com"),
        ("anthropic/y", Anthropic, "anthropic/y", "https://api.anthropic.com"),
        ("gpt-5", OpenAICompatible, "openai/gpt-5", "https://api.openai.com/v1"),
        ("openai/o3", OpenAICompatible, "openai/o3", "https://api.openai.com/v1"),
        (
            "gemini-2.5-pro",
            OpenAICompatible,
            "google/gemini-2.5-pro",
            "https://generativelanguage.googleapis.com/v1beta/openai",
        ),
        (
            "google/g",
            OpenAICompatible,
            "google/g",
            "https://generativelanguage.googleapis.com/v1beta/openai",
        ),
        ("ollama/q:8b", OpenAICompatible, "ollama/q:8b", "http://localhost:11434/v1"),
    ],
)
def test_a_name_says_who_is_meant(
    given: str, kind: type, name: str, address: str
) -> None:
    model: Any = as_model(given)
    assert type(model) is kind
    assert (model.name, model.base_url) == (name, address)
    assert model.name.endswith("/" + model.model)


def test_any_other_name_needs_an_address() -> None:
    model: Any = as_model("org/tiny", base_url=LOCAL)
    assert type(model) is OpenAICompatible
    assert (model.name, model.model) == ("compatible/org/tiny", "org/tiny")
    assert as_model("claude-x", base_url=LOCAL).key == f"anthropic/claude-x at {LOCAL}"


@pytest.mark.parametrize("given", ["", "  ", "o3", "mystery/x", "openai/", "claude"])
def test_a_name_of_nothing_raises_with_what_to_write(given: str) -> None:
    with pytest.raises(ValueError, match=r"names no model.*write 'anthropic/NAME'"):
        as_model(given)


async def test_a_plain_client_does_not_say_where_to_ask() -> None:
    async with httpx2.AsyncClient() as client:
        with pytest.raises(ValueError, match="names no model"):
            as_model("tiny", client=client)
        model: Any = as_model("tiny", base_url=LOCAL, client=client)
        assert model.client is client


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(TypeError, match=r"write FunctionModel\(fn\)"):
        as_model(len)  # type: ignore[arg-type]  # is what is tested


def test_a_model_comes_back_as_it_is() -> None:
    model = FunctionModel(lambda _: "x")
    assert as_model(model) is model
    with pytest.raises(ValueError, match="give it base_url where it is made"):
        as_model(model, base_url=LOCAL)
    with pytest.raises(ValueError, match="give it client where it is made"):
        as_model(model, client=object())


def test_a_model_without_name_is_refused() -> None:
    class Nameless(Model):
        async def arespond(self, *_: Any) -> Any: ...

    with pytest.raises(TypeError, match="Nameless has no name"):
        as_model(Nameless())


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        (
            {"base_url": "localhost:8000"},
            ValueError,
            "write the address with its scheme",
        ),
        ({"base_url": "ftp://x"}, ValueError, "write the address with its scheme"),
        ({"base_url": 5}, TypeError, "base_url must be text"),
        ({"api_key": ""}, ValueError, "set OPENAI_API_KEY"),
        ({"api_key": "sk-1\n"}, ValueError, "line ends"),
        ({"api_key": b"sk"}, TypeError, "api_key must be text, got a bytes"),
        ({"client": "x"}, TypeError, "asynchronous client of the official 'openai'"),
        ({"client": httpx2.Client}, TypeError, "httpx2.AsyncClient"),
        ({"params": {"stop": {1}}}, TypeError, "params.stop"),
        ({"timeout_s": 0}, ValueError, "timeout_s must be a number above 0"),
        ({"timeout_s": True}, ValueError, "timeout_s must be a number above 0"),
        ({"retries": -1}, ValueError, "retries must be an int >= 0"),
        ({"requests_per_minute": 0}, ValueError, "requests_per_minute"),
        ({"context_window": -5}, ValueError, "context_window"),
        ({"provider": ""}, ValueError, "name of a model is empty"),
        ({"model": 5}, TypeError, "name of a model must be text"),
    ],
)
def test_settings_that_cannot_work_raise_at_once(
    settings: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        OpenAICompatible(**{"model": "m", **settings})


def test_no_error_text_holds_the_key() -> None:
    with pytest.raises(ValueError, match="api_key") as caught:
        OpenAICompatible("m", api_key="sk-secret\n")
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(OpenAICompatible("m", api_key="sk-secret"))


async def test_a_missing_key_raises_when_it_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", " ")
    for name, variable in {
        "gpt-5": "OPENAI_API_KEY",
        "claude-x": "ANTHROPIC_API_KEY",
        "gemini-x": "GEMINI_API_KEY or GOOGLE_API_KEY",
    }.items():
        with pytest.raises(AuthError, match=f"set {variable} in the environment"):
            await ask(as_model(name))


def test_a_key_of_the_environment_goes_to_its_own_provider_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-own")
    assert OpenAICompatible("m").key_variables == ("OPENAI_API_KEY",)
    assert OpenAICompatible("m", base_url=LOCAL).key_variables == ()
    assert Anthropic("m", base_url=LOCAL).key_variables == ()


@pytest.mark.parametrize(
    ("name", "window", "price"),
    [
        ("openai/gpt-4o-mini", 128_000, Price(0.15, 0.6, 0.075)),
        ("openai/gpt-4o-mini-2024-07-18", 128_000, Price(0.15, 0.6, 0.075)),
        ("openai/gpt-5-pro", 400_000, None),
        ("openai/gpt-5.9", 400_000, None),
        ("anthropic/claude-opus-5", 1_000_000, Price(5.0, 25.0, 0.5, 6.25)),
        ("anthropic/claude-opus-5-20260724", 1_000_000, Price(5.0, 25.0, 0.5, 6.25)),
        ("anthropic/claude-opus-5-5-latest", 1_000_000, Price(4.0, 20.0, 0.2, 5.0)),
        ("anthropic/claude-opus-5-9", 1_000_000, None),
        ("anthropic/claude-haiku-5-5", 1_000_000, None),
        ("anthropic/claude-new-9", 200_000, None),
        ("ollama/llama", None, Price(0.0, 0.0)),
        ("compatible/x", None, None),
    ],
)
def test_what_is_not_known_is_not_guessed(
    name: str, window: int | None, price: Price | None
) -> None:
    assert known(name) == (window, price)


def test_own_settings_come_before_known_ones() -> None:
    price = Price(1.0, 1.0)
    model = OpenAICompatible("gpt-4o", price=price, context_window=5)
    assert (model.price, model.context_window) == (price, 5)


def test_a_price_that_is_none_is_refused_before_anything_is_paid() -> None:
    wrong: Any = (1.0, 1.0)
    with pytest.raises(TypeError, match=r"takes Price\(input, output\)"):
        OpenAICompatible("gpt-4o", price=wrong)
