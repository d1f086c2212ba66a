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


class Few(Provider):
    """Takes few at once, and refuses the others at once or after as long."""

    def __init__(self, takes: int, retry_after_s: float | None = None) -> None:
        super().__init__(self._too_many)
        self.takes = takes
        self._retry_after_s = retry_after_s

    def _too_many(self, _number: int) -> Exception | None:
        if self.running < self.takes:
            return None
        return RateLimitError("too many at once", retry_after_s=self._retry_after_s)


async def test_one_refusal_sets_no_limit(autojump_clock: Clock) -> None:
    model = Provider(first(1, RateLimitError("slow down")))
    await ask_all(model, 500)
    shown = gate_for(model).statistics()
    assert (shown.limit, shown.refused, shown.waiting) == (None, 1, 0)
    assert trio.current_time() < 1.2


async def test_the_limit_lets_no_more_run_at_once(autojump_clock: Clock) -> None:
    model = Few(16)
    async with trio.open_nursery() as nursery:
        for _ in range(200):
            nursery.start_soon(ask, model)
        await trio.sleep(1.4)
        shown = gate_for(model).statistics()
        assert shown.limit == shown.running == 16
        assert shown.waiting > 0
        nursery.cancel_scope.cancel()
    shown = gate_for(model).statistics()
    assert (shown.running, shown.waiting) == (0, 0)


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


async def ask_as(name: str, model: Model) -> None:
    request = Request(messages=HELLO.messages, system=name)
    await respond(model, request, None, lambda _: None)


async def test_who_was_refused_by_chance_goes_before_who_was_not_sent(
    autojump_clock: Clock,
) -> None:
    model = Provider(requests_per_minute=10)  # one at once, then one in some seconds

    def refuse(_number: int) -> Exception | None:
        return RateLimitError("x") if model.asked[-1] == "a" and not again else None

    again: list[str] = []
    model._refuse = refuse
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask_as, "a", model)
        await trio.testing.wait_all_tasks_blocked()
        again.append("a")
        for name in "bcd":
            nursery.start_soon(ask_as, name, model)
            await trio.testing.wait_all_tasks_blocked()
    assert model.asked == [*"aabcd"]


async def test_after_a_pause_not_the_same_request_is_refused_each_time(
    autojump_clock: Clock,
) -> None:
    model = Provider(first(4, RateLimitError("slow down", retry_after_s=5)))
    async with trio.open_nursery() as nursery:
        for name in "abcd":
            nursery.start_soon(ask_as, name, model)
            await trio.testing.wait_all_tasks_blocked()
    assert model.asked == [*"aabcdabc"]


@pytest.mark.parametrize("goes_first", [True, False])
async def test_a_cancel_in_the_row_lets_the_next_one_go(
    autojump_clock: Clock, goes_first: bool
) -> None:
    gate = gate_for(Provider(requests_per_minute=10))
    assert gate.enter_nowait() is not None
    begun: list[str] = []

    async def wait(name: str, scope: trio.CancelScope) -> None:
        with scope:
            await gate.enter(None, goes_first)
            begun.append(name)

    scopes = [trio.CancelScope() for _ in range(3)]
    async with trio.open_nursery() as nursery:
        for name, scope in zip("abc", scopes, strict=True):
            nursery.start_soon(wait, name, scope)
            await trio.testing.wait_all_tasks_blocked()
        scopes[0].cancel()
    assert begun == ["b", "c"]
    assert gate.statistics().waiting == 0


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
    for longest, gap in zip([0.1, 1.0, 4.0], gaps, strict=True):
        assert 0.5 * longest <= gap <= longest
    assert [event.kind for event in events] == ["retry"] * 3
    assert [event.data["try"] for event in events] == [1, 2, 3]
    assert events[0].data["status"] == error.status
    assert str(error) in events[0].message


async def test_an_answer_to_another_ends_the_wait_before_a_further_try(
    autojump_clock: Clock,
) -> None:
    model = Few(1)
    await ask_all(model, 3)
    assert trio.current_time() == pytest.approx(3)  # no moment without a request


async def test_a_bad_minute_is_followed_by_good_ones(autojump_clock: Clock) -> None:
    def refuse(_number: int) -> Exception | None:
        bad = 10 <= trio.current_time() < 70
        return ProviderError("down", status=503) if bad else None

    model = Provider(refuse, retries=100)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pace, model, 50, 1000)
        await trio.sleep(105)
        before = len(model.starts)
        await trio.sleep(20)
        assert len(model.starts) - before >= 0.95 * 50 * 20
        nursery.cancel_scope.cancel()


async def test_eight_tries_ride_out_more_than_a_minute(autojump_clock: Clock) -> None:
    model = Provider(lambda _: ProviderError("down", status=503))
    with pytest.raises(ProviderError, match="down"):
        await ask(model)
    assert len(model.starts) == 9
    assert 70 <= trio.current_time() <= 145


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


async def pace(model: Provider, agents: int, turns: int) -> float:
    """Replies a second, when each agent asks again as soon as it has one."""
    left = iter(range(agents * turns))

    async def agent() -> None:
        for _ in left:
            await ask(model)

    begin = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(agents):
            nursery.start_soon(agent)
    return agents * turns / (trio.current_time() - begin)


@pytest.mark.parametrize("agents", [1, 50])
async def test_random_refusals_cost_little_of_what_concurrency_allows(
    autojump_clock: Clock, agents: int
) -> None:
    draw = random.Random(5)
    model = Provider(lambda _: RateLimitError("x") if draw.random() < 0.05 else None)
    assert await pace(model, agents, 50) >= 0.95 * agents
    assert (gate_for(model).statistics().limit or agents) >= 0.9 * agents


@pytest.mark.parametrize("retry_after_s", [None, 1.0], ids=["no word", "a second"])
async def test_a_crowd_finishes_at_a_provider_that_takes_few_at_once(
    autojump_clock: Clock, retry_after_s: float | None
) -> None:
    model = Few(12, retry_after_s)
    ends = await ask_all(model, 300)
    assert len(ends) == 300
    assert trio.current_time() <= 1.2 * 300 / 12 + (retry_after_s or 0.0) * 5


async def test_a_crowd_does_not_stand_in_the_queue_of_a_provider(
    autojump_clock: Clock,
) -> None:
    room = trio.Semaphore(10)
    times: list[float] = []

    class Queueing(Provider):
        adapts_to_delay = True

        async def arespond(self, *args: Any) -> Reply:
            begin = trio.current_time()
            async with room:
                reply = await super().arespond(*args)
            times.append(trio.current_time() - begin)
            return reply

    model = Queueing(adapts_to_delay=True)
    assert await pace(model, 100, 20) >= 9.5
    assert max(times[-600:]) <= 3.0  # instead of 10 with all 100 in it
    assert (gate_for(model).statistics().limit or 100) <= 25


async def test_late_replies_of_code_in_this_process_limit_nothing(
    autojump_clock: Clock,
) -> None:
    room = trio.Semaphore(10)

    class Here(Provider):
        async def arespond(self, *args: Any) -> Reply:
            async with room:
                return await super().arespond(*args)

    model = Here()
    await pace(model, 100, 20)
    assert gate_for(model).statistics().limit is None


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
