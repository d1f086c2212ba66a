"""Steps: nodes side by side, one merge, one commit."""

import threading
from random import Random
from typing import Annotated, Any

import pytest
import trio
import trio.testing

from actors import (
    END,
    START,
    AgentState,
    Command,
    GraphError,
    GraphRecursionError,
    Message,
    NodeError,
    Send,
    State,
    StateGraph,
    replace_messages,
)
from protocol._snapshot import value_of
from tests.graphs import (
    Counted,
    adds,
    chain,
    fan,
    kept,
    kinds,
    meaning,
    says,
    started,
    texts,
    thread,
    user,
)


async def test_nodes_of_a_step_see_the_values_from_before_it() -> None:
    seen: list[int] = []

    async def look(state: Counted) -> dict[str, Any]:
        seen.append(state.total)
        return {"total": 5}

    result = await fan(("a", look), ("b", look)).ainvoke({"state": {"total": 10}})
    assert seen == [10, 10]
    assert result["state"].total == 20


async def test_updates_merge_in_declared_order_whatever_ends_first() -> None:
    first = trio.Event()

    async def late(state: Any) -> dict[str, Any]:
        await first.wait()
        return {"log": ["a"], "context": [Message.assistant("from a")]}

    async def early(state: Any) -> dict[str, Any]:
        first.set()
        return {"log": ["b"], "context": [Message.assistant("from b")]}

    result = await fan(("a", late), ("b", early)).ainvoke({})
    assert result["state"].log == ["a", "b"]
    assert texts(result["messages"]) == ["from a", "from b"]


async def test_fifty_runs_with_random_delays_give_the_same_merge(
    autojump_clock: trio.abc.Clock,
) -> None:
    def node(name: str, random: Random) -> Any:
        async def run(state: Any) -> dict[str, Any]:
            await trio.sleep(random.random())
            said = Message(role="assistant", content=[], message_id=name)
            return {"log": [name], "total": 1, "context": [said]}

        return run

    seen: set[tuple[str, ...]] = set()
    for seed in range(50):
        random = Random(seed)
        nodes = [(name, node(name, random)) for name in "abcdef"]
        result = await fan(*nodes).ainvoke({})
        ids = [str(message.message_id) for message in result["messages"]]
        assert result["state"].total == 6
        seen.add((*result["state"].log, *ids))
    assert seen == {tuple("abcdefabcdef")}


async def test_two_writers_without_a_reducer_name_the_field_and_both_nodes() -> None:
    async def write(state: Any) -> dict[str, Any]:
        return {"city": "Oslo", "total": 1}

    app = fan(("a", write), ("b", write))
    await chain(("x", adds(1)), checkpointer=app.checkpointer).ainvoke({}, thread())
    before = await app.aget_state(thread())
    with pytest.raises(NodeError) as raised:
        await app.ainvoke({}, thread())
    assert all(name in str(raised.value) for name in ("'a'", "'b'", "'city'"))
    assert raised.value.field == "city"
    after = await app.aget_state(thread())
    assert (after.total, after.city, after.log) == (before.total, "", before.log)


async def test_a_returned_state_writes_only_what_it_changed() -> None:
    async def whole(state: Counted) -> Counted:
        state.city = "Oslo"
        return state

    async def other(state: Counted) -> Counted:
        state.log = ["b"]
        return state

    result = await fan(("a", whole), ("b", other)).ainvoke({"state": {"total": 3}})
    state = result["state"]
    assert (state.city, state.log, state.total) == ("Oslo", ["b"], 3)


async def test_assigning_a_field_is_a_write_like_returning_it() -> None:
    async def assign(state: Counted) -> dict[str, Any]:
        state.total = 7
        return {"log": ["x"]}

    result = await chain(("a", assign)).ainvoke({"state": {"total": 10}})
    assert (result["state"].total, result["state"].log) == (17, ["x"])


async def test_values_cannot_be_changed_in_place() -> None:
    async def change(state: Counted) -> None:
        state.log.append("x")

    app = chain(("a", change))
    with pytest.raises(TypeError):
        await app.ainvoke({}, thread())
    assert (await app.aget_state(thread())).log == []


@pytest.mark.parametrize(
    ("returned", "wanted"),
    [
        ("text", ["text"]),
        (Message.assistant("one"), ["one"]),
        (["a", Message.assistant("b")], ["a", "b"]),
        ({"context": [Message.assistant("c")]}, ["c"]),
        (Command(update="d"), ["d"]),
        (Command(update=["d", "e"]), ["d", "e"]),
        (Command(), []),
        (None, []),
        ([], []),
        ({}, []),
    ],
)
async def test_what_a_node_may_return(returned: Any, wanted: list[str]) -> None:
    async def node(state: Any) -> Any:
        return returned

    result = await chain(("a", node)).ainvoke({})
    assert texts(result["messages"]) == wanted
    assert all(message.role == "assistant" for message in result["messages"])


@pytest.mark.parametrize(
    ("returned", "field"),
    [
        (7, None),
        ([7], None),
        (b"bytes", None),
        (AgentState(), None),
        ({"nothing": 1}, "nothing"),
        ({"execution_meta": {}}, "execution_meta"),
        ({"__dict__": {}}, "__dict__"),
        ({"city": 7}, "city"),
        ({"total": object()}, "total"),
        ({"context": "text"}, "context"),
        (Command(goto=7), None),
        (Command(goto=[Send("a", {"nothing": 1})]), "nothing"),
    ],
)
async def test_a_wrong_return_names_node_and_field_and_changes_nothing(
    returned: Any, field: str | None
) -> None:
    async def node(state: Any) -> Any:
        return returned

    app = chain(("good", adds(1)), ("bad", node))
    with pytest.raises(NodeError) as raised:
        await app.ainvoke({}, thread())
    assert (raised.value.node, raised.value.field) == ("bad", field)
    state = await app.aget_state(thread())
    assert (state.total, list(state.context)) == (1, [])
    assert state.execution_meta.status == "error"


async def test_several_edges_fan_out_and_a_list_joins() -> None:
    graph = StateGraph(Counted)
    for name in "abcd":
        graph.add_node(name, adds(1, name))
    graph.set_entry_point("a").add_edge("a", "b").add_edge("a", "c")
    graph.add_edge(["b", "c"], "d").add_edge("d", END)
    app = graph.compile()
    result = await app.ainvoke({}, thread())
    assert result["state"].log == ["a", "b", "c", "d"]
    assert result["state"].execution_meta.step == 3


async def test_a_join_waits_for_branches_of_different_length() -> None:
    graph = StateGraph(Counted)
    for name in ("a", "long", "longer", "short", "join"):
        graph.add_node(name, adds(1, name))
    graph.set_entry_point("a").add_edge("a", "long").add_edge("long", "longer")
    graph.add_edge("a", "short").add_edge(["longer", "short"], "join")
    graph.add_edge("join", END)
    result = await graph.compile().ainvoke({})
    assert result["state"].log == ["a", "long", "short", "longer", "join"]


async def test_send_fans_out_over_data() -> None:
    async def spread(state: Any) -> Command:
        cities = ("Rome", "Oslo", "Bern")
        return Command(goto=[Send("work", {"city": city}) for city in cities])

    async def work(state: Counted) -> dict[str, Any]:
        return {"log": [state.city], "total": 1}

    graph = StateGraph(Counted).add_node("spread", spread, goto="work")
    graph.add_node("work", work).add_edge(START, "spread").add_edge("work", END)
    result = await graph.compile().ainvoke({"state": {"city": "here"}})
    state = result["state"]
    assert (state.log, state.total, state.city) == (["Rome", "Oslo", "Bern"], 3, "here")


async def test_the_update_of_a_send_goes_through_reducers_for_its_branch_only() -> None:
    seen: list[int] = []

    async def spread(state: Any) -> Command:
        return Command(goto=[Send("work", {"total": n}) for n in (1, 2)])

    async def work(state: Counted) -> None:
        seen.append(state.total)

    graph = StateGraph(Counted).add_node("spread", spread, goto="work")
    graph.add_node("work", work).add_edge(START, "spread").add_edge("work", END)
    result = await graph.compile().ainvoke({"state": {"total": 10}})
    assert sorted(seen) == [11, 12]
    assert result["state"].total == 10


async def test_a_goto_is_taken_in_the_place_of_edges() -> None:
    async def choose(state: Any) -> Command:
        return Command(update={"log": ["chose"]}, goto="b")

    graph = StateGraph(Counted).add_node("a", choose, goto="b")
    graph.add_node("b", adds(1, "b")).add_node("c", adds(1, "c"))
    graph.set_entry_point("a").add_edge("a", "c").add_edge("b", END).add_edge("c", END)
    result = await graph.compile().ainvoke({})
    assert result["state"].log == ["chose", "b"]


@pytest.mark.parametrize("is_async", [True, False])
async def test_conditions_choose_names_lists_sends_and_mapped_keys(
    is_async: bool,
) -> None:
    def choose(state: Counted, config: Any) -> Any:
        return config["way"]

    async def choose_async(state: Counted, config: Any) -> Any:
        return config["way"]

    condition = choose_async if is_async else choose
    graph = StateGraph(Counted)
    for name in "abc":
        graph.add_node(name, adds(1, name))
    graph.set_entry_point("a").add_conditional_edges("a", condition)
    app = graph.compile()
    ways: list[tuple[Any, list[str]]] = [
        ("b", ["a", "b"]),
        (END, ["a"]),
        (["c", "b"], ["a", "b", "c"]),
        ([Send("b", {}), Send("b", {})], ["a", "b", "b"]),
        ([], ["a"]),
    ]
    for way, wanted in ways:
        assert (await app.ainvoke({}, {"way": way}))["state"].log == wanted


async def test_a_condition_sees_the_state_after_the_step() -> None:
    graph = StateGraph(Counted).add_node("a", adds(1)).set_entry_point("a")
    graph.add_conditional_edges("a", lambda s: s.total >= 3, {True: END, False: "a"})
    assert (await graph.compile().ainvoke({}))["state"].total == 3


async def test_a_condition_may_choose_the_entry_point() -> None:
    graph = StateGraph(Counted).add_node("a", adds(1, "a")).add_node("b", adds(1, "b"))
    graph.add_conditional_edges(START, lambda state: state.city, ["a", "b"])
    graph.add_edge("a", END).add_edge("b", END)
    result = await graph.compile().ainvoke({"state": {"city": "b"}})
    assert result["state"].log == ["b"]


async def test_complete_ends_the_run_after_this_step() -> None:
    async def finish(state: Counted) -> None:
        state.complete()

    result = await chain(("a", finish), ("b", adds(1))).ainvoke({}, thread())
    assert result["state"].total == 0
    assert result["state"].execution_meta.status == "completed"


async def test_error_fails_the_run_with_its_text() -> None:
    async def fail(state: Counted) -> dict[str, Any]:
        state.error("no luck today")
        return {"total": 5}

    app = chain(("a", fail))
    with pytest.raises(NodeError, match="no luck today"):
        await app.ainvoke({}, thread())
    state = await app.aget_state(thread())
    assert (state.total, state.execution_meta.status) == (0, "error")


async def test_what_a_node_shows_changes_nothing_else() -> None:
    async def show(state: Counted) -> dict[str, Any]:
        state.advance_step()
        state.advance_step()
        state.set_current_node("elsewhere")
        return {"total": 1}

    result = await chain(("a", show), ("b", adds(1))).ainvoke({})
    meta = result["state"].execution_meta
    assert (meta.step, meta.current_node) == (2, "b")


async def test_a_plain_function_runs_in_a_worker_thread() -> None:
    here = threading.get_ident()

    def plain(state: Counted) -> dict[str, Any]:
        return {"total": threading.get_ident()}

    result = await chain(("a", plain)).ainvoke({})
    assert result["state"].total not in (0, here)


async def test_nodes_get_the_config_with_keys_of_its_own() -> None:
    seen: list[Any] = []

    async def look(anything: Counted, config: Any) -> None:
        seen.append((config["mine"], config["thread_id"], config["recursion_limit"]))

    await chain(("a", look)).ainvoke({}, thread(mine="x"))
    assert seen == [("x", "t", 25)]


async def test_pieces_of_messages_are_never_stored() -> None:
    piece = Message(role="assistant", content=[], delta=True)

    async def node(state: Any) -> list[Message]:
        return [piece, Message.assistant("whole")]

    app = chain(("a", node))
    assert texts((await app.ainvoke({}, thread()))["messages"]) == ["whole"]
    entry = next(e for e in kept(app).history if e.kind == "node_end")
    assert texts(entry.content.updates[0].messages) == ["whole"]


async def test_a_context_reducer_of_its_own_is_applied_everywhere() -> None:
    class Last(AgentState):
        context: Annotated[list[Message], replace_messages]

    app = chain(("a", says("one")), ("b", says("two")), state=Last)
    result = await app.ainvoke(user("hi"), thread())
    assert texts(result["state"].context) == ["two"]
    assert texts(kept(app).messages) == ["two"]
    result = await app.ainvoke(user("again"), thread())
    assert texts(result["state"].context) == ["two"]


async def test_a_message_of_a_known_id_is_not_added_again() -> None:
    async def repeat(state: Counted) -> list[Message]:
        return [state.context[0], Message.assistant("new")]

    result = await chain(("a", repeat), ("b", repeat)).ainvoke(user("hi"))
    assert texts(result["state"].context) == ["hi", "new", "new"]


async def test_the_value_of_a_thread_is_the_fold_of_its_entries() -> None:
    app = fan(("a", adds(5, "a")), ("b", adds(7, "b")))
    for _ in range(3):
        await app.ainvoke({**user("hi"), "state": {"city": "Oslo"}}, thread())
    loaded = kept(app)
    again = State(history=loaded.history)
    assert meaning(value_of(again.snapshot())) == meaning(value_of(loaded.snapshot()))
    live = app._here()._known["t"].state
    assert meaning(value_of(live.snapshot())) == meaning(value_of(loaded.snapshot()))


async def test_a_step_is_recorded_as_one_end_for_each_node_and_one_for_all() -> None:
    app = chain(("a", adds(1)))
    await app.ainvoke({}, thread())
    wanted = "run_start graph_start node_start node_end step_end graph_end"
    assert kinds(app) == wanted.split()


async def test_more_steps_than_the_limit_raise_and_the_thread_goes_on() -> None:
    graph = StateGraph(Counted).add_node("a", adds(1)).set_entry_point("a")
    graph.add_conditional_edges("a", lambda state: "a")
    app = graph.compile()
    with pytest.raises(GraphRecursionError) as raised:
        await app.ainvoke({}, thread(recursion_limit=4))
    assert raised.value.limit == 4
    assert (await app.aget_state(thread())).total == 4
    with pytest.raises(GraphRecursionError):
        await app.ainvoke(None, thread())
    assert (await app.aget_state(thread())).total == 29


async def test_the_first_failure_in_declared_order_is_raised_bare() -> None:
    async def fail_late(state: Any) -> None:
        await trio.testing.wait_all_tasks_blocked()
        raise ValueError("a")

    async def fail(state: Any) -> None:
        raise KeyError("b")

    with pytest.raises(ValueError) as raised:
        await fan(("a", fail_late), ("b", fail), ("c", adds(1))).ainvoke({}, thread())
    assert any("KeyError" in note for note in raised.value.__notes__)


async def test_a_failing_condition_leaves_the_state_as_before_the_step() -> None:
    graph = StateGraph(Counted).add_node("a", adds(1)).set_entry_point("a")
    graph.add_conditional_edges("a", lambda state: {}["x"], [END])
    app = graph.compile()
    with pytest.raises(KeyError):
        await app.ainvoke({}, thread())
    assert (await app.aget_state(thread())).total == 0


async def test_a_key_that_the_path_map_has_not_is_named() -> None:
    graph = StateGraph(Counted).add_node("a", adds(1)).set_entry_point("a")
    graph.add_conditional_edges("a", lambda state: "odd", {"even": END})
    with pytest.raises(GraphError, match="'odd'"):
        await graph.compile().ainvoke({})


async def test_nodes_of_a_step_run_side_by_side() -> None:
    meet = [trio.Event(), trio.Event()]

    def node(mine: int) -> Any:
        async def run(state: Any) -> None:
            meet[mine].set()
            await meet[1 - mine].wait()

        return run

    with trio.fail_after(5):
        await fan(("a", node(0)), ("b", node(1))).ainvoke({}, thread())


async def test_a_node_that_takes_too_long_fails_by_its_name(
    autojump_clock: trio.abc.Clock,
) -> None:
    async def slow(state: Any) -> None:
        await trio.sleep(10)

    app = chain(("slow", slow))
    with pytest.raises(TimeoutError, match="'slow'"):
        await app.ainvoke({}, thread(node_timeout_s=1))
    assert trio.current_time() < 5
    assert started(app) == ["slow"]


async def test_a_state_that_is_kept_never_sees_its_context_grow() -> None:
    seen: list[Any] = []

    async def look(state: Counted) -> str:
        seen.append(state if len(seen) % 2 else state.context)
        assert len(state.context) == len(seen)
        return "more"

    nodes = [(f"n{number}", look) for number in range(6)]
    await chain(*nodes).ainvoke(user("hi"))
    lengths = [len(getattr(each, "context", each)) for each in seen]
    assert lengths == [1, 2, 3, 4, 5, 6]


async def test_a_condition_that_fails_leaves_no_trace_in_what_later_nodes_see() -> None:
    wrong = [True]

    def route(state: Counted) -> str:
        assert [m.role for m in state.context][-2:] == ["user", "assistant"]
        if wrong:
            raise KeyError("x")
        return END

    seen: list[list[str]] = []

    async def look(state: Counted) -> str:
        seen.append(texts(state.context))
        return f"answer {len(seen)}"

    graph = StateGraph(Counted).add_node("look", look).add_edge(START, "look")
    graph.add_conditional_edges("look", route, [END])
    app = graph.add_conditional_edges("look", route, [END]).compile()
    with pytest.raises(KeyError):
        await app.ainvoke(user("one"), thread())
    wrong.clear()
    result = await app.ainvoke(user("two"), thread())
    assert seen == [["one"], ["one", "two"]]
    assert texts(result["state"].context) == ["one", "two", "answer 2"]
    await app.ainvoke(user("three"), thread())
    assert seen[-1] == ["one", "two", "answer 2", "three"]
