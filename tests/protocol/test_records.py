"""Records: what was sealed is read back, and nothing else is, unnoticed."""

import itertools
import random
from collections.abc import Sequence

import pytest

from protocol import _records as records_module
from protocol._records import CHAIN_START, Scan, checksum_of, scan, seal

BODIES = [f"entry {n}: ".encode() + bytes([n]) * (n % 7) for n in range(20)]


def chain(bodies: Sequence[bytes], previous: int = CHAIN_START) -> list[bytes]:
    sealed: list[bytes] = []
    for body in bodies:
        record = seal(previous, body)
        previous = checksum_of(record)
        sealed.append(record)
    return sealed


RECORDS = chain(BODIES)
LOG = b"".join(RECORDS)
ENDS = [0, *itertools.accumulate(len(record) for record in RECORDS)]


def found(data: bytes) -> tuple[int, str]:
    """How many records of LOG are read, and the verdict; none may be another."""
    read = scan(data)
    count = len(read.records)
    assert read.records == BODIES[:count]
    assert read.end == ENDS[count]
    return count, read.verdict


def test_a_sealed_log_reads_back_clean() -> None:
    read = scan(LOG)
    assert read == Scan(
        records=BODIES,
        end=len(LOG),
        checksum=checksum_of(RECORDS[-1]),
        verdict="clean",
        follows=None,
    )


def test_an_empty_log_is_clean_and_goes_on_from_the_given_checksum() -> None:
    read = scan(b"", checksum=7, offset=100)
    assert (read.records, read.end, read.checksum) == ([], 100, 7)
    assert read.verdict == "clean"


def test_an_empty_body_is_a_record_like_any_other() -> None:
    assert scan(b"".join(chain([b"", b"", b"x"]))).records == [b"", b"", b"x"]


def test_every_flipped_bit_of_a_log_is_found_where_it_is() -> None:
    for position in range(len(LOG)):
        hit = sum(end <= position for end in ENDS) - 1
        for bit in range(8):
            mutated = bytearray(LOG)
            mutated[position] ^= 1 << bit
            expected = "torn" if hit == len(BODIES) - 1 else "damaged"
            assert found(bytes(mutated)) == (hit, expected), (position, bit)


def test_every_truncation_is_a_torn_tail_or_a_shorter_log() -> None:
    for size in range(len(LOG)):
        whole = sum(end <= size for end in ENDS) - 1
        expected = "clean" if size in ENDS else "torn"
        assert found(LOG[:size]) == (whole, expected), size


def test_every_swap_of_two_records_is_damage() -> None:
    for a, b in itertools.combinations(range(len(RECORDS)), 2):
        swapped = [*RECORDS]
        swapped[a], swapped[b] = swapped[b], swapped[a]
        assert found(b"".join(swapped)) == (a, "damaged"), (a, b)


def test_every_duplicate_of_a_record_is_damage_wherever_it_stands() -> None:
    for copy, place in itertools.product(range(len(RECORDS)), range(len(RECORDS) + 1)):
        doubled = [*RECORDS[:place], RECORDS[copy], *RECORDS[place:]]
        read = found(b"".join(doubled))
        # A copy of the record at its own place is that record; the next is the copy.
        assert read == (place + (copy == place), "damaged"), (copy, place)


def test_every_dropped_record_but_the_last_is_damage() -> None:
    for gap in range(len(RECORDS) - 1):
        rest = b"".join(RECORDS[:gap] + RECORDS[gap + 1 :])
        assert found(rest) == (gap, "damaged"), gap


def test_records_of_another_log_are_damage() -> None:
    other = chain(BODIES, previous=1)
    read = scan(b"".join(other))
    assert (read.records, read.verdict, read.follows) == ([], "damaged", 0)


def test_damage_names_its_place_and_the_first_whole_record_behind_it() -> None:
    mutated = bytearray(LOG)
    mutated[ENDS[4]] ^= 1
    read = scan(bytes(mutated), offset=1000)
    assert (read.end, read.follows) == (1000 + ENDS[4], 1000 + ENDS[5])


def test_a_reader_goes_on_from_any_offset_with_the_running_checksum() -> None:
    for size in range(len(LOG) + 1):
        first = scan(LOG[:size])
        rest = scan(LOG[first.end :], checksum=first.checksum, offset=first.end)
        assert first.records + rest.records == BODIES, size
        assert (rest.end, rest.verdict) == (len(LOG), "clean"), size


def test_a_cut_log_takes_new_records() -> None:
    torn = scan(LOG[:-3])
    new = b"".join(chain([b"new"], previous=torn.checksum))
    read = scan(LOG[: torn.end] + new)
    assert (read.records, read.verdict) == ([*BODIES[:-1], b"new"], "clean")


@pytest.mark.parametrize("seed", range(20))
def test_random_mutations_never_read_as_other_records(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(100):
        begin = draw.randrange(len(LOG))
        end = min(len(LOG), begin + draw.randrange(40))
        noise = draw.randbytes(draw.randrange(40))
        mutated = LOG[:begin] + noise + LOG[end:]
        count, verdict = found(mutated)
        shorter = mutated == LOG[: ENDS[count]]
        assert (verdict == "clean") is shorter, f"seed={seed} at {begin}:{end}"


def test_a_whole_record_without_a_body_at_the_very_end_tells_damage_too() -> None:
    *before, last = chain([b"one", b"two", b""])
    broken = b"".join(before)[:-1] + b"!"
    read = scan(broken + last)
    assert (read.verdict, read.follows) == ("damaged", len(broken))


def test_a_byte_that_looks_like_a_record_hides_no_record_behind_it() -> None:
    first, second = chain([b"one", b"two"])
    read = scan(first + b"\xc1" + second)
    assert (read.verdict, read.follows) == ("damaged", len(first) + 1)


@pytest.mark.parametrize("tail", [b"\0" * 5000, b"\xff" * 5000, b"\xc1" * 5000])
def test_a_tail_of_one_repeated_byte_is_torn(tail: bytes) -> None:
    assert found(LOG + tail) == (len(BODIES), "torn")


def test_a_tail_full_of_headers_that_claim_much_is_refused_in_linear_time() -> None:
    header, count = records_module._HEADER, 1 << 17
    size = header.size * count
    claims = b"".join(
        header.pack(0xC1, size - header.size * n, 0, 1) for n in range(1, count + 1)
    )
    # A pass over each claim would read 110 GB.
    assert scan(claims).verdict == "damaged"


def test_a_body_longer_than_a_record_holds_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(records_module, "BODY_BYTES_MAX", 3)
    with pytest.raises(ValueError, match="cannot seal a body of 4 bytes"):
        seal(CHAIN_START, b"1234")
