import json
from pathlib import Path

import pytest

from actors.cli._tasks import Task, read_tasks


def lines(tmp_path: Path, *given: object) -> Path:
    path = tmp_path / "tasks.jsonl"
    with path.open("wb") as file:
        for line in given:
            text = line if isinstance(line, bytes) else json.dumps(line).encode()
            file.write(text + b"\n")
    return path


def test_each_good_line_is_a_task_in_order(tmp_path: Path) -> None:
    path = lines(
        tmp_path,
        {"id": "b", "prompt": "Second letter", "extra_data": {"n": [1, None]}},
        {"id": "a", "prompt": "First letter", "extra_data": None},
    )
    found = read_tasks(path)
    assert found.tasks == [
        Task(id="b", prompt="Second letter", extra_data={"n": [1, None]}),
        Task(id="a", prompt="First letter"),
    ]
    assert not found.bad


def test_empty_lines_and_a_byte_order_mark_are_nothing(tmp_path: Path) -> None:
    path = lines(tmp_path, b"\xef\xbb\xbf" + b'{"id":"a","prompt":"p"}\r', b"  ", b"")
    assert read_tasks(path).tasks == [Task(id="a", prompt="p")]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b'{"id":"a","prompt":"\xff"}', "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        ([], "a task is an object"),
        ({"prompt": "p"}, 'no "id"'),
        ({"id": "a"}, 'no "prompt"'),
        ({"id": "a", "prompt": ""}, '"prompt" is a text'),
        ({"id": "a", "prompt": 5}, '"prompt" is a text'),
        ({"id": 5, "prompt": "p"}, "a State id is a str"),
        ({"id": ["a"], "prompt": "p"}, "a State id is a str"),
        ({"id": "a b", "prompt": "p"}, "'a b'"),
        ({"id": "x" * 129, "prompt": "p"}, "1 to 128"),
        ({"id": "a", "prompt": "p", "extra_data": 5}, '"extra_data" is an object'),
        ({"id": "a", "prompt": "p", "extra_dat": {}}, 'a task has no "extra_dat"'),
        ({"id": "a", "prompt": "p", "x" * 999: 1}, "stands in extra_data"),
        ({"id": "good", "prompt": "p"}, "stands on line 1 too"),
    ],
)
def test_a_line_that_is_no_task_is_named_and_the_rest_is_read(
    tmp_path: Path, line: object, fault: str
) -> None:
    first, last = {"id": "good", "prompt": "p"}, {"id": "last", "prompt": "p"}
    found = read_tasks(lines(tmp_path, first, line, last))
    assert [task.id for task in found.tasks] == ["good", "last"]
    (bad,) = found.bad
    assert bad.number == 2
    assert fault in bad.fault
    assert len(bad.fault) < 300
