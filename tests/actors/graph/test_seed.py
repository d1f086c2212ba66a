"""Every example of the second seed, as written there after the change of imports."""

from typing import Any

from actors import (
    END,
    START,
    Agent,
    AgentState,
    ImageBlock,
    MediaRef,
    Message,
    MessageContextManager,
    StateGraph,
    TextBlock,
    ToolCallBlock,
    ToolNode,
    ToolResult,
    ToolResultBlock,
)
from actors.testing import FakeModel
from protocol import add_messages
from tests.graphs import asks, call


def test_custom_state_is_read_and_set_from_outside() -> None:
    class MyState(AgentState):
        selected_city: str = ""

    def reply(state: MyState) -> list[Message]:
        # Read a custom field and append one assistant message to context
        text = f"Selected city: {state.selected_city or 'none'}"
        return [Message.text_message(text, role="assistant")]

    graph = StateGraph(MyState)
    graph.add_node("REPLY", reply)
    graph.add_edge(START, "REPLY")
    graph.add_edge("REPLY", END)
    app = graph.compile()

    result = app.invoke(
        {
            "messages": [Message.text_message("Hi")],
            "state": {"selected_city": "Paris"},  # merged into MyState
        },
        config={"thread_id": "demo"},
    )
    texts = [message.text() for message in result["messages"]]
    assert texts == ["Hi", "Selected city: Paris"]
    assert result["state"].selected_city == "Paris"


def test_the_helper_methods_of_a_state() -> None:
    state = AgentState()
    assert not state.is_running()
    assert not state.is_interrupted()
    assert not state.is_stopped_requested()
    state.advance_step()
    state.set_current_node("name")
    state.complete()
    assert (state.execution_meta.step, state.execution_meta.current_node) == (1, "name")
    state = AgentState()
    state.error("message")
    assert state.execution_meta.error_text == "message"


def test_a_custom_state_class_and_an_instance_make_a_graph() -> None:
    class MyState(AgentState):
        user_id: str = ""
        session_data: dict = {}  # type: ignore[type-arg]  # as the seed has it
        selected_city: str = ""

    assert StateGraph(MyState)
    assert StateGraph(MyState(user_id="u-1"))


def test_messages_are_made_as_the_seed_makes_them() -> None:
    msg = Message.text_message("Hello!")
    assert (msg.role, msg.text()) == ("user", "Hello!")
    msg = Message.tool_message(
        content=[
            ToolResultBlock(call_id="call_123", output="Sunny, 22C", status="completed")
        ],
    )
    assert (msg.role, msg.text()) == ("tool", "Sunny, 22C")
    msg = Message(
        role="user",
        content=[
            TextBlock(text="What is this?"),
            ImageBlock(
                media=MediaRef(
                    kind="url",
                    url="https://example.com/img.png",
                    mime_type="image/png",
                )
            ),
        ],
    )
    assert msg.text() == "What is this?"


def test_add_messages_skips_known_ids_and_deltas() -> None:
    old = Message.user("old")
    piece = Message(role="assistant", content=[TextBlock(text="h")], delta=True)
    new = Message.assistant("new")
    assert add_messages([old], [old, piece, new]) == [old, new]


async def test_a_tool_result_updates_the_state() -> None:
    class MyState(AgentState):
        selected_city: str = ""

    def select_city(city: str) -> ToolResult:
        """Set the currently selected city in the workflow."""
        return ToolResult(
            message=f"City updated to '{city}'.",  # returned to the model
            state={"selected_city": city},  # updates MyState.selected_city
        )

    async def ask(state: MyState) -> Message:
        return asks(call("c1", "select_city", city="Oslo"))

    graph = StateGraph(MyState)
    graph.add_node("ASK", ask).add_node("TOOLS", ToolNode([select_city]))
    graph.add_edge(START, "ASK").add_edge("ASK", "TOOLS").add_edge("TOOLS", END)
    result = await graph.compile().ainvoke({"messages": [Message.user("go")]})
    assert result["state"].selected_city == "Oslo"
    assert result["messages"][-1].text() == "City updated to 'Oslo'."


async def test_context_accumulates_across_turns_as_the_seed_shows_it() -> None:
    async def get_weather(location: str) -> str:
        return "Cloudy, 18C"

    weather = ToolCallBlock(id="c1", name="get_weather", args={"location": "Tokyo"})
    model = FakeModel(["4.", weather, "It is cloudy and 18C in Tokyo."])
    graph = StateGraph(AgentState)
    graph.add_node("MAIN", Agent(model=model, tools=[get_weather]))
    graph.add_edge(START, "MAIN").add_edge("MAIN", END)
    app = graph.compile()
    config = {"thread_id": "weather"}
    await app.ainvoke({"messages": [Message.user("What is 2 + 2?")]}, config)
    asked = Message.user("What is the weather in Tokyo?")
    result = await app.ainvoke({"messages": [asked]}, config)
    wanted: list[Any] = [
        ("user", "What is 2 + 2?"),
        ("assistant", "4."),
        ("user", "What is the weather in Tokyo?"),
        ("assistant", ""),
        ("tool", "Cloudy, 18C"),
        ("assistant", "It is cloudy and 18C in Tokyo."),
    ]
    assert [(m.role, m.text()) for m in result["state"].context] == wanted
    assert result["state"].context[3].tool_calls == (weather,)


async def test_a_context_manager_trims_for_an_agent_that_asks_for_it() -> None:
    # Keep the first message and the most recent 10 user turns
    graph = StateGraph(
        AgentState, context_manager=MessageContextManager(max_messages=10)
    )
    model = FakeModel([str(number) for number in range(15)])
    graph.add_node("MAIN", Agent(model=model, trim_context=True))
    graph.add_edge(START, "MAIN").add_edge("MAIN", END)
    app = graph.compile()
    for number in range(15):
        question = {"messages": [Message.user(f"question {number}")]}
        result = await app.ainvoke(question, {"thread_id": "long"})
    seen = [m.text() for m in model.requests[-1].messages if m.role == "user"]
    assert seen == ["question 0", *(f"question {n}" for n in range(5, 15))]
    assert len(result["state"].context) == 30
