"""G4: two runs at once on one thread are two whole turns."""

import trio

from tests.graphs import Counted, chain, texts, thread, user


async def answer(state: Counted) -> str:
    await trio.lowlevel.checkpoint()
    return f"answer to {state.context[-1].text()}"


async def test_neither_run_answers_the_message_of_the_other() -> None:
    app = chain(("think", answer))
    results: dict[str, list[str]] = {}

    async def run(question: str) -> None:
        result = await app.ainvoke(user(question), thread())
        results[question] = texts(result["messages"])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, "one")
        nursery.start_soon(run, "two")
    turns = {q: [q, f"answer to {q}"] for q in ("one", "two")}
    assert results == turns
    whole = texts((await app.aget_state(thread())).context)
    assert whole in (turns["one"] + turns["two"], turns["two"] + turns["one"])


def test_two_threads_of_plain_code_share_a_thread_too() -> None:
    from concurrent.futures import ThreadPoolExecutor

    app = chain(("think", answer))
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(app.invoke, user(q), thread()) for q in ("one", "two")]
        said = [texts(future.result()["messages"]) for future in futures]
    assert said == [["one", "answer to one"], ["two", "answer to two"]]
    assert len(app.get_state(thread()).context) == 4
