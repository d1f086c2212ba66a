"""A rule that is wrong is found: no rule of the oracle is there in vain."""

from collections.abc import Callable
from typing import Any

import pytest

from protocol import Message, Usage

from . import oracle
from .generate import run_seed
from .oracle import CALLING, IDLE, THINKING, Value

SEEDS_MAX = 4_000

WrongChange = Callable[[Value, Any, Value], None]
"""Given the value before, the entry, and the right value after, to spoil that."""


def first_of_a_notice(before: Value, entry: Any, after: Value) -> None:
    after.first_user = before.first_user or entry.message


def first_not_while_held(before: Value, entry: Any, after: Value) -> None:
    if before.phase != IDLE:
        after.first_user = before.first_user


def held_out_of_order(before: Value, entry: Any, after: Value) -> None:
    after.held.reverse()


def notices_wait_in_vain(before: Value, entry: Any, after: Value) -> None:
    after.waiting = before.waiting


def turn_not_taken_back(before: Value, entry: Any, after: Value) -> None:
    after.turn = before.turn


def taken_back_about_a_call(before: Value, entry: Any, after: Value) -> None:
    if before.phase == THINKING and entry.call is not None:
        oracle.let_in(after)


def cut_off_says_nothing(before: Value, entry: Any, after: Value) -> None:
    if not entry.content.tool_calls:
        after.reply_text = entry.content.message.text()


def answer_of_a_reply_with_calls(before: Value, entry: Any, after: Value) -> None:
    after.reply_text = entry.content.message.text()


def held_in_before_results(before: Value, entry: Any, after: Value) -> None:
    if after.phase == CALLING:
        after.messages.extend(after.held)
        after.held = []


def results_as_they_came(before: Value, entry: Any, after: Value) -> None:
    if before.phase == CALLING and after.phase == IDLE:
        entries = [*before.results.values(), entry]
        place = len(after.messages) - 1 - len(before.held)
        blocks = [oracle.result_block(each) for each in entries]
        after.messages[place] = Message(role="tool", content=blocks)


def late_usage_lost(before: Value, entry: Any, after: Value) -> None:
    if entry.late:
        after.usage = before.usage


def no_notice_when_late(before: Value, entry: Any, after: Value) -> None:
    after.waiting = before.waiting


def usage_lost(before: Value, entry: Any, after: Value) -> None:
    after.usage = before.usage


def last_parent_wins(before: Value, entry: Any, after: Value) -> None:
    if entry.parent_id is not None:
        after.parent = (entry.parent_id, entry.parent_call_id)


def stop_outlives_a_run(before: Value, entry: Any, after: Value) -> None:
    after.stopped = before.stopped


def clearing_unfinishes(before: Value, entry: Any, after: Value) -> None:
    if entry.content is None:
        after.finished = False


def finish_takes_the_answer(before: Value, entry: Any, after: Value) -> None:
    if entry.content is not None and entry.content.kind == "finish":
        after.finish_answer = entry.content.answer


def removed_keys_stay(before: Value, entry: Any, after: Value) -> None:
    after.extra = {**before.extra, **after.extra}


def import_forgets_the_first(before: Value, entry: Any, after: Value) -> None:
    after.first_user = before.first_user


def nothing_kept(before: Value, entry: Any, after: Value) -> None:
    after.messages = after.messages[: len(after.messages) - entry.content.kept]


def first_kept_twice(before: Value, entry: Any, after: Value) -> None:
    kept = entry.content.kept
    if kept:
        head = 1 if after.first_user is None else 2
        after.messages = [*after.messages[:head], *before.messages[-kept:]]


def compaction_loses_the_first(before: Value, entry: Any, after: Value) -> None:
    if after.first_user is not None:
        del after.messages[0]


def anchors_stay(before: Value, entry: Any, after: Value) -> None:
    after.messages = [
        old if old.content == new.content else new
        for old, new in zip(before.messages, after.messages, strict=True)
    ]


def newest_cleared_first(before: Value, entry: Any, after: Value) -> None:
    turned = list(reversed(before.messages))
    blank = oracle.cleared(turned, entry.content.cleared)
    after.messages = list(reversed(blank))


def restore_gives_usage_back(before: Value, entry: Any, after: Value) -> None:
    after.usage = Usage()


def restore_cuts_the_parent(before: Value, entry: Any, after: Value) -> None:
    after.parent = None


def restore_keeps_notices(before: Value, entry: Any, after: Value) -> None:
    after.waiting = before.waiting


def restore_keeps_the_first(before: Value, entry: Any, after: Value) -> None:
    after.first_user = before.first_user


def restore_stays_finished(before: Value, entry: Any, after: Value) -> None:
    after.finished = before.finished


def restore_keeps_the_answer(before: Value, entry: Any, after: Value) -> None:
    after.finish_answer = before.finish_answer


def restore_keeps_the_stop(before: Value, entry: Any, after: Value) -> None:
    after.stopped = before.stopped


def restore_forgets_ended(before: Value, entry: Any, after: Value) -> None:
    after.ended = []


def child_ends_silently(before: Value, entry: Any, after: Value) -> None:
    after.waiting = before.waiting


def question_stays_open(before: Value, entry: Any, after: Value) -> None:
    after.questions = before.questions


WRONG: list[tuple[str, WrongChange]] = [
    ("notice", first_of_a_notice),
    ("user", first_not_while_held),
    ("user", held_out_of_order),
    ("error", notices_wait_in_vain),
    ("error", turn_not_taken_back),
    ("error", taken_back_about_a_call),
    ("model_reply", cut_off_says_nothing),
    ("model_reply", answer_of_a_reply_with_calls),
    ("model_reply", held_in_before_results),
    ("model_reply", usage_lost),
    ("tool_result", results_as_they_came),
    ("tool_result", late_usage_lost),
    ("tool_result", no_notice_when_late),
    ("tool_result", usage_lost),
    ("ask", usage_lost),
    ("human", usage_lost),
    ("run_start", last_parent_wins),
    ("run_start", stop_outlives_a_run),
    ("stop", clearing_unfinishes),
    ("stop", finish_takes_the_answer),
    ("extra_data", removed_keys_stay),
    ("import", import_forgets_the_first),
    ("compact", usage_lost),
    ("compact", nothing_kept),
    ("compact", first_kept_twice),
    ("compact", compaction_loses_the_first),
    ("clear_tool_results", anchors_stay),
    ("clear_tool_results", newest_cleared_first),
    ("restore", restore_gives_usage_back),
    ("restore", restore_cuts_the_parent),
    ("restore", restore_keeps_notices),
    ("restore", restore_keeps_the_first),
    ("restore", restore_stays_finished),
    ("restore", restore_keeps_the_answer),
    ("restore", restore_keeps_the_stop),
    ("restore", restore_forgets_ended),
    ("child_end", child_ends_silently),
    ("child_end", usage_lost),
    ("answer", question_stays_open),
    ("tool_result", question_stays_open),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "spoil"), WRONG, ids=[f"{kind}-{f.__name__}" for kind, f in WRONG]
)
def test_a_wrong_rule_is_found(
    kind: str, spoil: WrongChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = oracle.after

    def wrong(values: list[Value], entry: Any) -> Value:
        value = right(values, entry)
        found = entry.content.kind if entry.kind == "context_change" else entry.kind
        if found == kind:
            spoil(values[-1], entry, value)
        return value

    # Both the fold of a whole history and the commands go through this one name.
    monkeypatch.setattr(oracle, "after", wrong)
    for seed in range(SEEDS_MAX):
        try:
            run_seed(seed)
        except AssertionError as found:
            # A difference was seen; the wrong rule itself did not crash.
            assert isinstance(found.__cause__, AssertionError)
            return
    raise AssertionError(f"{spoil.__name__}: no sequence of {SEEDS_MAX} found it")
