"""What every kit asks of what it is given."""


def check_maker(kit: str, given: object) -> None:
    """Refuse the thing itself in the place of what makes one.

    Args:
        kit: The name of the function that was called.
        given: What it was called with.

    Raises:
        TypeError: it makes nothing.
    """
    if not callable(given):
        raise TypeError(
            f"{kit} is given what makes one, not {given!r:.60}: write "
            f"{kit}(lambda: ...)"
        )
