"""Server-sent events, taken apart on bytes.

Providers stream one JSON document in the `data` of each event; names, ids and comments
of events carry nothing that is not in it, so they are left out.
Source of the rules: the section "Server-sent events" of the HTML standard.
"""


class Events:
    """The data of each event, from the bytes of a response as they come.

    Bytes are cut at line ends only, so a character that arrives in two pieces is
    whole again before anybody decodes it.
    """

    def __init__(self) -> None:
        self._unended: list[bytes] = []  # of the last line; joined once it has an end
        self._data: list[bytes] = []  # of the event that is not yet whole
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of each event that these bytes complete.

        An event that the stream breaks off is never returned, as the standard says.
        """
        if b"\r" in chunk or self._after_cr:
            chunk = self._with_plain_ends(chunk)
        first, *lines = chunk.split(b"\n")
        self._unended.append(first)
        if not lines:
            return []
        whole: list[bytes] = []
        self._line(b"".join(self._unended), whole)
        self._unended = [lines.pop()]
        for line in lines:
            self._line(line, whole)
        return whole

    def _line(self, line: bytes, whole: list[bytes]) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
        elif not line and self._data:
            whole.append(b"\n".join(self._data))
            self._data = []

    def _with_plain_ends(self, chunk: bytes) -> bytes:
        """Turn the ends CR and CR LF into LF, also where a chunk parts CR from LF."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
