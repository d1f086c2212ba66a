"""Usage: it adds, keeps its parts by model, and never guesses a cost."""

import copy
import pickle
import sys
from functools import reduce
from operator import add
from random import Random
from typing import Any

import msgspec
import pytest

from protocol import Price, TokenUsages, Usage

SONNET = Usage(10, 5, 3, 2, 1, 0.25).for_model("sonnet")
HAIKU = Usage(100, 50, 30, 20, 1, 0.5).for_model("haiku")
UNPRICED = Usage(7, 1, requests=1).for_model("local")


def drawn(random: Random) -> Usage:
    """A usage as a provider makes it; its costs add without rounding."""
    cost = random.choice([None, random.randrange(1000) / 1024])
    read, written, cached, kept = (random.randrange(1000) for _ in range(4))
    one = Usage(read, written, cached, kept, 1, cost)
    name = random.choice(["a", "b", "c", None])
    return one if name is None else one.for_model(name)


def bare(usage: Usage) -> Usage:
    return msgspec.structs.replace(usage, by_model={})


def test_adding_adds_every_number() -> None:
    total = Usage(1, 2, 3, 4, 5, 0.25) + Usage(10, 20, 30, 40, 50, 0.5)
    assert total == Usage(11, 22, 33, 44, 55, 0.75)


@pytest.mark.parametrize("name", Usage.__struct_fields__[:6])
def test_a_number_below_0_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"and Usage\({name}=-1.*\) has a number"):
        Usage(**{name: -1})
    with pytest.raises(msgspec.ValidationError, match="below 0"):
        msgspec.json.decode(f'{{"{name}": -1}}', type=Usage)
    assert Usage(**{name: 0}) == Usage()


def test_adding_changes_neither_side() -> None:
    total = SONNET + HAIKU
    assert (SONNET.input_tokens, HAIKU.input_tokens) == (10, 100)
    assert (total.requests, len(SONNET.by_model)) == (2, 1)


def test_an_empty_usage_costs_nothing_and_changes_nothing() -> None:
    assert Usage().cost == 0.0
    for one in (SONNET, UNPRICED, SONNET + HAIKU, Usage()):
        assert Usage() + one == one == one + Usage()
        assert (Usage() + one).by_model == one.by_model == (one + Usage()).by_model


def test_a_request_whose_cost_is_unknown_makes_the_total_unknown() -> None:
    assert Usage(requests=1).cost is None
    assert (SONNET + UNPRICED).cost is None
    assert (UNPRICED + SONNET + HAIKU).cost is None


def test_a_part_without_requests_leaves_the_cost_known() -> None:
    assert Usage(cost=None) == Usage(cost=0.0) == Usage()
    assert (SONNET + Usage(input_tokens=3, cost=None)).cost == 0.25


def test_a_free_request_is_a_known_cost() -> None:
    assert (SONNET + Usage(requests=1, cost=0.0)).cost == 0.25


def test_the_part_of_each_model_is_kept() -> None:
    total = SONNET + HAIKU + SONNET + UNPRICED
    assert dict(total.by_model) == {
        "sonnet": Usage(20, 10, 6, 4, 2, 0.5),
        "haiku": Usage(100, 50, 30, 20, 1, 0.5),
        "local": Usage(7, 1, requests=1),
    }
    assert all(part.by_model == {} for part in total.by_model.values())


def test_what_no_model_is_named_for_is_in_the_total_only() -> None:
    total = SONNET + Usage(1, requests=1, cost=0.5)
    assert total == Usage(11, 5, 3, 2, 2, 0.75)
    assert total.by_model == {"sonnet": Usage(10, 5, 3, 2, 1, 0.25)}


def test_by_model_is_left_out_of_equality_and_hash() -> None:
    same = Usage(10, 5, 3, 2, 1, 0.25)
    assert same == SONNET
    assert hash(same) == hash(SONNET)
    assert same.by_model != SONNET.by_model
    assert SONNET != HAIKU
    assert (SONNET == (10, 5, 3, 2, 1, 0.25)) is False


def test_by_model_is_read_only() -> None:
    for usage in (SONNET, SONNET + HAIKU):
        parts: Any = usage.by_model
        with pytest.raises(TypeError):
            parts["sonnet"] = Usage()
        assert usage.by_model["sonnet"] == SONNET


def test_no_field_can_be_changed() -> None:
    usage: Any = SONNET
    for field in ("input_tokens", "cost", "by_model"):
        with pytest.raises(AttributeError):
            setattr(usage, field, 1)
    assert (SONNET.input_tokens, SONNET.cost) == (10, 0.25)


def test_by_model_can_be_given() -> None:
    given = {"sonnet": SONNET, "haiku": HAIKU}
    usage = Usage(110, 55, 33, 22, 2, 0.75, given)
    given.clear()
    assert usage.by_model == {"sonnet": SONNET, "haiku": HAIKU}
    assert usage.by_model["sonnet"].by_model == {}
    assert Usage(1, by_model={}).by_model == {}
    assert Usage(1, by_model={"a": Usage(1)}).by_model == {"a": Usage(1)}
    assert Usage(9, by_model={"a": Usage(1)}).by_model == {"a": Usage(1)}


@pytest.mark.parametrize("wrong", [{"a": 3}, {3: Usage()}])
def test_by_model_with_anything_but_usages_by_name_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="maps the name of a model to its Usage"):
        Usage(by_model=wrong)


def test_naming_the_model_keeps_what_is_named_already() -> None:
    assert HAIKU.for_model("other") is HAIKU
    assert (SONNET + HAIKU).for_model("other").by_model.keys() == {"sonnet", "haiku"}


def test_total_tokens_counts_the_four_disjoint_counts() -> None:
    assert SONNET.total_tokens == 20


def test_adding_something_else_is_refused() -> None:
    wrong: Any = 1
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = SONNET + wrong


def test_since_tells_what_grew() -> None:
    grown = (SONNET + HAIKU + SONNET).since(SONNET)
    assert grown == HAIKU + SONNET
    assert grown.by_model == {"haiku": HAIKU, "sonnet": SONNET}


def test_since_names_only_the_models_that_grew() -> None:
    grown = (SONNET + HAIKU + SONNET).since(SONNET + HAIKU)
    assert grown.by_model == {"sonnet": SONNET}
    assert (SONNET + HAIKU).since(SONNET + HAIKU) == Usage()
    assert (SONNET + HAIKU).since(SONNET + HAIKU).by_model == {}


def test_since_an_unknown_cost_is_unknown_unless_nothing_was_asked() -> None:
    assert (UNPRICED + SONNET).since(UNPRICED).cost is None
    assert (UNPRICED + SONNET).since(UNPRICED).by_model["sonnet"].cost == 0.25
    assert (SONNET + UNPRICED).since(SONNET).cost is None
    assert UNPRICED.since(UNPRICED) == Usage()


@pytest.mark.parametrize("earlier", [HAIKU, SONNET + SONNET, SONNET + UNPRICED])
def test_since_a_later_value_is_refused(earlier: Usage) -> None:
    with pytest.raises(ValueError, match="swap them: later"):
        SONNET.since(earlier)


def test_since_a_value_with_other_models_is_refused() -> None:
    with pytest.raises(ValueError, match="not an earlier value"):
        bare(HAIKU).since(SONNET)


@pytest.mark.parametrize("seed", range(50))
def test_sums_do_not_depend_on_how_they_are_made(seed: int) -> None:
    random = Random(seed)
    parts = [drawn(random) for _ in range(random.randrange(2, 12))]
    total = reduce(add, parts)
    random.shuffle(parts)
    cut = random.randrange(1, len(parts))
    left, right = reduce(add, parts[:cut]), reduce(add, parts[cut:])
    again = left + right
    assert again == total
    assert again.by_model == total.by_model
    grown = again.since(left)
    assert left + grown == again
    assert {**(left + grown).by_model} == {**again.by_model}
    if left.cost is not None:
        assert grown == right


@pytest.mark.parametrize("seed", range(50))
@pytest.mark.parametrize("codec", [msgspec.json, msgspec.msgpack])
def test_a_usage_survives_the_codecs(seed: int, codec: Any) -> None:
    random = Random(seed)
    usage = reduce(add, [drawn(random) for _ in range(random.randrange(1, 6))])
    again = codec.decode(codec.encode(usage), type=Usage)
    assert again == usage
    assert again.by_model == usage.by_model


@pytest.mark.parametrize("usage", [Usage(), SONNET, SONNET + HAIKU, UNPRICED])
def test_a_usage_survives_pickling_and_copying(usage: Usage) -> None:
    for again in (pickle.loads(pickle.dumps(usage)), copy.copy(usage)):
        assert again == usage
        assert again.by_model == usage.by_model


def test_a_sum_of_one_model_takes_at_most_350_bytes() -> None:
    total = reduce(add, [SONNET] * 1_000)
    fields = (getattr(total, name) for name in Usage.__struct_fields__[:-1])
    assert sys.getsizeof(total) + sum(map(sys.getsizeof, fields)) <= 350
    assert total.by_model == {"sonnet": total}


def test_a_price_is_dollars_for_a_million_tokens() -> None:
    price = Price(3, 15, 0.3, 3.75)
    assert price.cost(Usage(1_000_000)) == 3
    assert price.cost(Usage(0, 1_000_000)) == 15
    assert price.cost(Usage(0, 0, 1_000_000)) == 0.3
    assert price.cost(Usage(0, 0, 0, 1_000_000)) == 3.75
    assert price.cost(Usage(1_000, 2_000, 3_000, 4_000, 1)) == pytest.approx(0.0489)
    assert price.cost(Usage(cost=9.0)) == 0


def test_a_price_without_cache_prices_takes_cached_tokens_as_input() -> None:
    assert Price(2, 4).cost(Usage(0, 0, 500_000, 500_000)) == 2


def test_a_price_of_nothing_makes_every_request_free() -> None:
    assert Price(0, 0).cost(SONNET) == 0.0


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf")])
@pytest.mark.parametrize("field", ["input", "output", "cache_read", "cache_write"])
def test_a_price_that_is_no_amount_is_refused(field: str, wrong: float) -> None:
    with pytest.raises(ValueError, match=f"as the {field} price; it is a finite"):
        Price(**{"input": 1, "output": 1, field: wrong})


@pytest.mark.parametrize("wrong", [True, False, "3"])
@pytest.mark.parametrize("field", ["input", "output", "cache_read", "cache_write"])
def test_a_price_that_is_no_number_is_refused(field: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"as the {field} price; pass the dollars"):
        Price(**{"input": 1, "output": 1, field: wrong})


@pytest.mark.parametrize("codec", [msgspec.json, msgspec.msgpack])
def test_token_usages_survive_the_codecs(codec: Any) -> None:
    for tokens in (TokenUsages(5, 10, 15), TokenUsages(5, 10, 15, 1, 2, 3, None, 4)):
        assert codec.decode(codec.encode(tokens), type=TokenUsages) == tokens


def test_token_usages_default_to_nothing_special() -> None:
    tokens = TokenUsages(completion_tokens=5, prompt_tokens=10, total_tokens=15)
    assert tokens.reasoning_tokens == tokens.cache_read_input_tokens == 0
    assert (tokens.image_tokens, tokens.audio_tokens) == (0, 0)


def test_repr_says_what_is_not_zero_and_whose_it_is() -> None:
    assert repr(Usage()) == "Usage()"
    assert repr(Usage(requests=1)) == "Usage(requests=1, cost=None)"
    text = "Usage(input_tokens=7, output_tokens=1, requests=1, cost=None, by_model={})"
    assert repr(UNPRICED) == text.replace("{}", "{'local': ...}")
    assert repr(SONNET + HAIKU).endswith("by_model={'sonnet': ..., 'haiku': ...})")
