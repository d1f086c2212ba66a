import pytest

from protocol._fold import replay

from .golden_folds import stories
from .test_codec import digest


@pytest.mark.parametrize("name", ["folds-1"])
def test_what_a_history_means_never_changes(name: str) -> None:
    for number, story in enumerate(stories(name)):
        assert digest(story.history()) == story.digest, f"line {number + 1}"


@pytest.mark.parametrize("name", ["folds-1"])
def test_every_beginning_of_a_history_is_one(name: str) -> None:
    for story in stories(name):
        history = story.history()
        for size in range(len(history) + 1):
            assert replay(history[:size]).size == size
