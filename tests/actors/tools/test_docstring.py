import pytest

from actors.tools._docstring import read_docstring

GOOGLE = """Search the catalogue.

    Finds items by their text,
    best first.

    Args:
        query (str): What to look for:
            words, or a sentence.
        limit: How many at most.
        where (dict[str, str], optional): Filters.

    Returns:
        query: not an argument.
    """

NUMPY = """Search the catalogue.

    Finds items by their text,
    best first.

    Parameters
    ----------
    query : str
        What to look for:
        words, or a sentence.
    limit
        How many at most.
    where, when : dict, optional
        Filters.

    Returns
    -------
    query : list
        Not an argument.
    """

FIELDS = """Search the catalogue.

    Finds items by their text,
    best first.

    :param str query: What to look for:
        words, or a sentence.
    :param limit: How many at most.
    :type limit: int
    :param where: Filters.
    :returns: the items
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, FIELDS], ids=["google", "numpy", ":"])
def test_three_ways_to_describe_arguments_are_read(text: str) -> None:
    read = read_docstring(text)
    assert read.description == (
        "Search the catalogue.\n\nFinds items by their text,\nbest first."
    )
    assert {name: read.arguments[name] for name in ("query", "limit", "where")} == {
        "query": "What to look for: words, or a sentence.",
        "limit": "How many at most.",
        "where": "Filters.",
    }
    assert read.arguments.keys() <= {"query", "limit", "where", "when"}


def test_names_that_numpydoc_puts_together_share_their_text() -> None:
    assert read_docstring(NUMPY).arguments["when"] == "Filters."


@pytest.mark.parametrize("text", [None, "", "   \n  "])
def test_no_docstring_says_nothing(text: str | None) -> None:
    read = read_docstring(text)
    assert (read.description, read.arguments) == ("", {})


def test_a_plain_docstring_is_the_description() -> None:
    text = "Add two numbers.\n\n    Note that a colon: is no section,\n    nor is this:"
    read = read_docstring(text)
    assert read.description == (
        "Add two numbers.\n\nNote that a colon: is no section,\nnor is this:"
    )
    assert read.arguments == {}


def test_a_section_without_items_says_nothing() -> None:
    read = read_docstring("Go.\n\nArgs:\n\nReturns:\n    Nothing.")
    assert (read.description, read.arguments) == ("Go.", {})


def test_words_before_the_first_item_belong_to_no_argument() -> None:
    read = read_docstring("Go.\n\nArgs:\n    All of them in metres\n    x: Width.")
    assert read.arguments == {"x": "Width."}
