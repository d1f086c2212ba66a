"""One gate for each model key, on a virtual clock."""

import random
from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from actors import (
    Agent,
    AuthError,
    Message,
    Model,
    ModelEvent,
    ProviderError,
    RateLimitError,
    Reply,
    Request,
    State,
    Usage,
)
from actors._gate import gate_for, respond
from actors.testing import FakeModel

HELLO = Request(messages=(Message.user("hello"),))
Clock = trio.testing.MockClock


class Provider(Model):
    """Takes a second for each request, and refuses as told by number of request."""

    def __init__(
        self, refuse: Callable[[int], Exception | None] = lambda _: None, **more: Any
    ) -> None:
        self.name = "test/provider"
        self.starts: list[float] = []
        self.asked: list[str | None] = []
        self.running = 0
        self.most = 0
        self._refuse = refuse
        for setting, value in more.items():
            setattr(self, setting, value)

    async def arespond(self, request: Request, on_text: Any, on_event: Any) -> Reply:
        self.starts.append(trio.current_time())
        self.asked.append(request.system)
        error = self._refuse(len(self.starts))
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if error is not None:
                raise error
            await trio.sleep(1)
        finally:
            self.running -= 1
        return Reply(message=Message.assistant("hi"), usage=Usage(90, 10, requests=1))


async def ask(model: Model, events: list[ModelEvent] | None = None) -> Reply:
    told = [] if events is None else events
    return await respond(model, HELLO, None, told.append)


async def ask_all(model: Model, number: int) -> list[float]:
    """Ask that often at once; the time at which each got its reply."""
    ends: list[float] = []

    async def one() -> None:
        await ask(model)
        ends.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        for _ in range(number):
            nursery.start_soon(one)
    return ends


def first(number: int, error: Exception) -> Callable[[int], Exception | None]:
    return lambda request: error if request <= number else None


async def test_nobody_waits_before_the_first_refusal(autojump_clock: Clock) -> None:
    model = Provider()
    await ask_all(model, 500)
    assert model.most == 500
    assert trio.current_time() == pytest.approx(1)
    shown = gate_for(model).statistics()
    assert (shown.key, shown.limit, shown.sent, shown.refused) == (
        "test/provider",
        None,
        500,
        0,
    )


async def test_after_retry_after_nobody_sends_too_early_nor_all_at_once(
    autojump_clock: Clock,
) -> None:
    model = Provider(first(1, RateLimitError("slow down", retry_after_s=5)))
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, model)
            await trio.testing.wait_all_tasks_blocked()
            assert gate_for(model).statistics().paused_s == pytest.approx(5)
            for _ in range(19):
                nursery.start_soon(ask, model)
    later = model.starts[1:]
    assert len(later) == 20
    assert min(later) >= 5
    assert len(set(later)) == 20
    assert max(later) <= 5 + 0.5 + 2  # a second for those beyond the first limit
    assert gate_for(model).statistics().running == 0


async def test_each_of_a_refused_crowd_finishes(autojump_clock: Clock) -> None:
    model = Provider(first(20, RateLimitError("slow down", retry_after_s=5)))
    with trio.fail_after(120):
        await ask_all(model, 20)
    assert all(start == 0 or start >= 5 for start in model.starts)
    assert len(model.starts) == 40


async def test_a_cancel_while_waiting_leaves_at_once_and_frees_the_slot(
    autojump_clock: Clock,
) -> None:
    model = Provider(first(1, RateLimitError("slow down", retry_after_s=100)))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, model)
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(3) as scope:
            await ask(model)
        assert scope.cancelled_caught
        assert trio.current_time() == pytest.approx(3)
        assert gate_for(model).statistics().waiting == 1
        nursery.cancel_scope.cancel()
    shown = gate_for(model).statistics()
    assert (shown.running, shown.waiting) == (0, 0)


async def test_a_cancel_of_a_request_or_a_back_off_frees_the_slot(
    autojump_clock: Clock,
) -> None:
    for model in (Provider(), Provider(lambda _: ProviderError("x", status=500))):
        with trio.move_on_after(0.3) as scope:
            await ask(model)
        assert scope.cancelled_caught
        assert gate_for(model).statistics().running == 0


async def test_the_limit_lets_no_more_run_at_once(autojump_clock: Clock) -> None:
    model = Provider(first(1, RateLimitError("slow down")))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, model)
        await trio.testing.wait_all_tasks_blocked()
        assert gate_for(model).statistics().limit == 16
        for _ in range(100):
            nursery.start_soon(ask, model)
        await trio.sleep(0.4)
        shown = gate_for(model).statistics()
        assert (shown.running, shown.waiting) == (16, 84)
        await trio.sleep(1)
        assert gate_for(model).statistics().running == 32  # nothing more was refused


async def test_waiters_start_in_order(autojump_clock: Clock) -> None:
    model = Provider(first(1, RateLimitError("slow down", retry_after_s=3)))

    async def one(name: str) -> None:
        request = Request(messages=HELLO.messages, system=name)
        await respond(model, request, None, lambda _: None)

    names = [*"abcdefghijklmnopqrstuvwxyz"]
    async with trio.open_nursery() as nursery:
        for name in names:
            nursery.start_soon(one, name)
            await trio.testing.wait_all_tasks_blocked()
    assert model.asked == ["a", *names]


@pytest.mark.parametrize(
    "error",
    [
        RateLimitError("slow down"),
        ProviderError("oops", status=500),
        ProviderError("busy", status=529),
        ProviderError("lost", transient=True),
    ],
    ids=str,
)
async def test_what_may_pass_is_tried_again_with_growing_waits(
    autojump_clock: Clock, error: ProviderError
) -> None:
    model = Provider(first(3, error))
    events: list[ModelEvent] = []
    assert (await ask(model, events)).text == "hi"
    gaps = [b - a for a, b in zip(model.starts, model.starts[1:], strict=False)]
    for number, gap in enumerate(gaps):
        assert 0.5 * 4**number <= gap <= 4**number
    assert [event.kind for event in events] == ["retry"] * 3
    assert [event.data["try"] for event in events] == [1, 2, 3]
    assert events[0].data["status"] == error.status
    assert str(error) in events[0].message


async def test_tries_end(autojump_clock: Clock) -> None:
    model = Provider(lambda number: RateLimitError(f"no {number}"), retries=2)
    with pytest.raises(RateLimitError, match="no 3"):
        await ask(model)
    assert len(model.starts) == 3


@pytest.mark.parametrize(
    "error",
    [AuthError("bad key", status=401), ProviderError("bad request", status=400)],
    ids=str,
)
async def test_what_waiting_cannot_mend_is_raised_at_once(
    autojump_clock: Clock, error: ProviderError
) -> None:
    model = Provider(lambda _: error)
    with pytest.raises(ProviderError) as caught:
        await ask(model)
    assert caught.value is error
    assert len(model.starts) == 1
    assert trio.current_time() == 0


async def test_nothing_is_tried_again_once_text_was_shown(
    autojump_clock: Clock,
) -> None:
    class Talker(Provider):
        async def arespond(
            self, request: Request, on_text: Any, on_event: Any
        ) -> Reply:
            if self.starts:
                on_text("Hel")
            return await super().arespond(request, on_text, on_event)

    model = Talker(lambda _: RateLimitError("slow down"))
    shown: list[str] = []
    with pytest.raises(RateLimitError):
        await respond(model, HELLO, shown.append, lambda _: None)
    assert shown == ["Hel"]
    assert len(model.starts) == 2


async def test_another_error_frees_the_slot_and_counts_for_nothing(
    autojump_clock: Clock,
) -> None:
    model = Provider(first(1, KeyError("a bug")))
    with pytest.raises(KeyError):
        await ask(model)
    shown = gate_for(model).statistics()
    assert (shown.running, shown.refused, shown.limit) == (0, 0, None)


async def test_who_waits_because_of_another_is_told(autojump_clock: Clock) -> None:
    model = Provider(first(1, RateLimitError("slow down", retry_after_s=5)))
    mine: list[ModelEvent] = []
    other: list[ModelEvent] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, model, mine)
        await trio.sleep(1)
        nursery.start_soon(ask, model, other)
    assert [(e.kind, e.data["wait_s"]) for e in mine] == [("retry", 5.0)]
    assert [(e.kind, e.data["wait_s"]) for e in other] == [("wait", 4.0)]


async def test_a_shorter_retry_after_does_not_end_a_longer_one(
    autojump_clock: Clock,
) -> None:
    asks = {1: 30.0, 2: 2.0}
    model = Provider(
        lambda n: RateLimitError("x", retry_after_s=asks[n]) if n in asks else None
    )
    await ask_all(model, 2)
    assert sorted(model.starts)[2] >= 30


async def test_models_of_one_key_share_a_gate_and_others_do_not(
    autojump_clock: Clock,
) -> None:
    one, two = Provider(), Provider()
    assert gate_for(one) is gate_for(two)
    two.key = "elsewhere"
    assert gate_for(one) is not gate_for(two)


async def test_requests_a_minute_are_bounded(autojump_clock: Clock) -> None:
    model = Provider(requests_per_minute=60)
    await ask_all(model, 130)
    for start in model.starts:
        assert sum(start <= at < start + 60 for at in model.starts) <= 60
    assert trio.current_time() < 150


async def test_tokens_a_minute_are_bounded(autojump_clock: Clock) -> None:
    model = Provider(tokens_per_minute=6000)  # 60 requests of 100 tokens
    await ask(model)
    await ask_all(model, 120)
    within = sum(at < 61 for at in model.starts)
    assert 45 <= within <= 66  # the size of the first ones was not yet known
    assert trio.current_time() < 160


async def test_random_refusals_cost_little_of_what_concurrency_allows(
    autojump_clock: Clock,
) -> None:
    draw = random.Random(5)
    model = Provider(lambda _: RateLimitError("x") if draw.random() < 0.05 else None)
    agents, turns = 50, 50
    left = iter(range(agents * turns))

    async def agent() -> None:
        for _ in left:
            await ask(model)

    async with trio.open_nursery() as nursery:
        for _ in range(agents):
            nursery.start_soon(agent)
    assert turns / trio.current_time() >= 0.85


@pytest.mark.parametrize("retry_after_s", [None, 1.0], ids=["no word", "a second"])
async def test_a_crowd_finishes_at_a_provider_that_takes_few_at_once(
    autojump_clock: Clock, retry_after_s: float | None
) -> None:
    takes = 12
    model = Provider()

    def refuse(_number: int) -> Exception | None:
        if model.running < takes:
            return None
        return RateLimitError("too many at once", retry_after_s=retry_after_s)

    model._refuse = refuse
    ends = await ask_all(model, 500)
    assert len(ends) == 500
    assert trio.current_time() <= 3 * 500 / takes


async def test_the_gate_adds_no_checkpoint_when_nobody_waits() -> None:
    class Instant(Provider):
        async def arespond(self, *_: Any) -> Reply:
            return Reply(message=Message.assistant("hi"))

    before = trio.lowlevel.current_statistics().tasks_runnable
    with trio.CancelScope() as scope:
        scope.cancel()  # would be delivered at a checkpoint
        assert (await ask(Instant())).text == "hi"
    assert trio.lowlevel.current_statistics().tasks_runnable == before


async def test_a_reply_that_could_not_be_read_again_takes_its_request_back() -> None:
    estimate: Any = 7 / 4
    reply = Reply(
        message=Message.assistant("hi"), usage=Usage(input_tokens=estimate, requests=1)
    )
    agent = Agent(FakeModel([reply, "whole"]), reporter=None)
    state = State(messages=[Message.user("hello")])
    with pytest.raises(TypeError, match="must be an int, not"):
        await agent.athink(state)
    assert (state.turn, state.phase, state.messages) == (0, "idle", state.messages[:1])
    assert (await agent.athink(state)).text == "whole"
