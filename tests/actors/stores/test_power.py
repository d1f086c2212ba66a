"""Loss of power and failing disks under a FileStore: nothing acknowledged is lost."""

import warnings
from pathlib import Path
from random import Random

import pytest

from actors import (
    FileStore,
    Message,
    State,
    StoreConflict,
    StoreUnknown,
    TornTailWarning,
)
from actors.testing import Fault, SimulatedDisk, crash_disk
from tests.sim.store import ProcessDisk, ProcessGone

FOLDER = Path("states")
NAMES = ("a", "b", "c")


class Ledger:
    """What was tried and what was acknowledged, for each State."""

    def __init__(self) -> None:
        self.tried: dict[str, list[bytes]] = {name: [] for name in NAMES}
        self.acknowledged = dict.fromkeys(NAMES, 0)


def info(epoch: int) -> dict[str, object]:
    return {
        "epoch": epoch,
        "writer": f"w{epoch}",
        "after": f"w{epoch - 1}" if epoch > 1 else None,
    }


def write_some(
    disk: SimulatedDisk, ledger: Ledger, random: Random, held: dict[str, int]
) -> None:
    """Write until the power goes: each State under one writer an epoch."""
    store = FileStore(FOLDER, disk=disk)
    epochs = {name: (held.get(name) or 0) + 1 for name in NAMES}
    for _ in range(random.randrange(1, 8)):
        name = random.choice(NAMES)
        tried = ledger.tried[name]
        record = store.read(name)
        stored = 0 if record is None else len(record.entries)
        # A history only grows: what was not stored is tried again, with more.
        tried.extend(
            random.randbytes(random.randrange(40)) for _ in range(random.randrange(3))
        )
        entries = tried[stored:]
        if random.random() < 0.2:
            at = disk.operations + random.randrange(12)
            disk.fault = Fault("broken", at, for_ever=random.random() < 0.3)
        try:
            store.write(name, entries, info(epochs[name]), expected=stored)
        except (OSError, StoreUnknown):
            continue
        finally:
            disk.fault = None
        ledger.acknowledged[name] = stored + len(entries)


def one_life_after_another(seed: int) -> None:
    random = Random(seed)
    disk, ledger = crash_disk(seed), Ledger()
    held: dict[str, int] = {}
    for _ in range(3):
        write_some(disk, ledger, random, held)
        disk = disk.lose_power()
        store = FileStore(FOLDER, disk=disk)
        listed = {each.id: each for each in store.list()}
        assert not [each for each in listed.values() if each.damage], seed
        for name in NAMES:
            record = store.read(name)
            entries = [] if record is None else list(record.entries)
            acknowledged = ledger.acknowledged[name]
            assert len(entries) >= acknowledged, f"seed {seed}: lost entries"
            assert entries == ledger.tried[name][: len(entries)], (
                f"seed {seed}: invented entries"
            )
            assert (name in listed) == (record is not None), seed
            # What was read is built on from now on.
            ledger.acknowledged[name] = len(entries)
            ledger.tried[name] = entries
            if record is None:
                held.pop(name, None)
            else:
                held[name] = record.info["epoch"]


@pytest.mark.filterwarnings("ignore::actors.TornTailWarning")
def test_no_acknowledged_entry_is_lost_when_the_power_goes() -> None:
    for seed in range(60):
        one_life_after_another(seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::actors.TornTailWarning")
def test_no_acknowledged_entry_is_lost_in_20_000_losses_of_power() -> None:
    for seed in range(6_700):
        one_life_after_another(seed)


def test_the_disk_itself_does_what_it_is_told() -> None:
    images = set[bytes]()
    for seed in range(50):
        disk = crash_disk(seed)
        file = disk.open(FOLDER / "x", create=True, write=True)
        file.write(0, b"synced")
        file.sync()
        disk.sync_folder(FOLDER)
        file.write(6, b"not synced")
        assert file.read(0, 99) == b"syncednot synced"
        after = disk.lose_power().open(FOLDER / "x", create=False, write=False)
        images.add(after.read(0, 99))
    assert all(image.startswith(b"synced") for image in images)
    assert {b"synced", b"syncednot synced"} < images
    assert len(images) > 10


def test_a_file_whose_folder_was_not_synced_may_be_gone() -> None:
    found = set[bool]()
    for seed in range(20):
        disk = crash_disk(seed)
        disk.open(FOLDER / "x", create=True, write=True).sync()
        found.add("x" in disk.lose_power().names(FOLDER))
    assert found == {True, False}


def scenario(disk: SimulatedDisk) -> tuple[State, list[BaseException]]:
    store, state = FileStore(FOLDER, disk=disk), State(id="a")
    failures: list[BaseException] = []
    for number in range(4):
        state.add_message(Message.user(f"{number}"))
        try:
            store.save(state)
        except (OSError, StoreUnknown) as failure:
            failures.append(failure)
    disk.fault = None
    # Whatever happened, a later try works, and everything is there in order.
    store.save(state)
    assert store.load("a").history == state.history
    return state, failures


@pytest.mark.filterwarnings("ignore::actors.TornTailWarning")
@pytest.mark.parametrize("for_ever", [False, True])
@pytest.mark.parametrize("kind", ["full", "broken", "short"])
def test_whichever_operation_fails_a_later_save_stores_everything(
    kind: str, for_ever: bool
) -> None:
    count = crash_disk()
    scenario(count)
    assert count.operations > 30
    for at in range(count.operations):
        disk = crash_disk(at)
        disk.fault = Fault(kind, at, for_ever)  # type: ignore[arg-type] # parametrized
        state, failures = scenario(disk)
        if kind == "short":
            assert not failures, "a short write is gone on with"
        after = FileStore(FOLDER, disk=disk.lose_power())
        assert after.load("a").history == state.history


def test_a_full_disk_fails_the_save_and_leaves_the_history_readable() -> None:
    disk = crash_disk()
    store, state = FileStore(FOLDER, disk=disk), State(id="a")
    state.add_message(Message.user("first"))
    store.save(state)
    before = state.history
    state.add_message(Message.user("second"))
    disk.fault = Fault("full", disk.operations, for_ever=True)
    with pytest.raises(OSError, match="No space left"):
        store.save(state)
    disk.fault = None
    assert store.load("a").history == before
    store.save(state)
    assert store.load("a").history == state.history


def test_nobody_sees_what_the_disk_did_not_confirm() -> None:
    disk = crash_disk()
    store = FileStore(FOLDER, disk=disk)
    store.write("a", [b"1"], info(1), expected=0)
    disk.fault = Fault("broken", disk.operations + 5)
    with pytest.raises(StoreUnknown, match="did not confirm a write"):
        store.write("a", [b"2"], info(1), expected=1)
    record = FileStore(FOLDER, disk=disk).read("a")
    assert record is not None
    assert list(record.entries) == [b"1"]


def test_a_torn_tail_is_cut_and_reported_once() -> None:
    disk = crash_disk()
    store, state = FileStore(FOLDER, disk=disk), State(id="a")
    state.add_message(Message.user("first"))
    store.save(state)
    file = disk.open(FOLDER / "a.log", create=False, write=True)
    size = file.size()
    file.write(size, b"\xc1unfinished")
    with pytest.warns(TornTailWarning, match=f"cut 11 bytes at byte {size}"):
        assert store.load("a").history == state.history
    assert file.size() == size
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.load("a").history == state.history
    assert store.statistics().torn_tails == 1


def left_by_a_process_that_died(disk: SimulatedDisk) -> State:
    """A State whose file was written and synced, and whose folder was not."""
    store, state = FileStore(FOLDER, disk=disk), State(id="a")
    state.add_message(Message.user("first"))
    # Open, lock, read, write, sync: then the folder's turn would have come.
    disk.fault = Fault("broken", disk.operations + 5, for_ever=True)
    with pytest.raises(StoreUnknown, match="did not confirm its file"):
        store.save(state)
    disk.fault = None
    return state


def test_the_name_of_a_file_that_somebody_else_made_is_made_durable_too() -> None:
    for seed in range(30):
        disk = crash_disk(seed)
        first = left_by_a_process_that_died(disk)
        store = FileStore(FOLDER, disk=disk)
        state = store.load("a")
        assert state.history == first.history
        state.add_message(Message.user("second"))
        store.save(state)
        after = FileStore(FOLDER, disk=disk.lose_power())
        assert after.load("a").history == state.history


def test_what_others_built_on_an_unconfirmed_write_is_not_cut_off() -> None:
    disk = crash_disk()
    one, other = FileStore(FOLDER, disk=disk), FileStore(FOLDER, disk=disk)
    one.write("a", [b"1"], info(1), expected=0)
    # Open, lock, read twice, write: the sync fails, and the cut that follows.
    disk.fault = Fault("broken", disk.operations + 5, for_ever=True)
    with pytest.raises(StoreUnknown):
        one.write("a", [b"2"], info(1), expected=1)
    disk.fault = None
    other.write("a", [b"3"], info(2), expected=2)
    with pytest.raises(StoreConflict):
        one.write("a", [b"2"], info(1), expected=1)
    for store in (one, other):
        record = store.read("a")
        assert record is not None
        assert list(record.entries) == [b"1", b"2", b"3"]


class DiskOfOneWrite(ProcessDisk):
    """Its process dies before the operation that follows its first write."""

    def __init__(self, files: SimulatedDisk) -> None:
        super().__init__(files)
        self.has_written = False

    def operate(self, writing: int = 0) -> int:
        if self.has_written:
            raise ProcessGone
        self.has_written = writing > 0
        return super().operate(writing)


@pytest.mark.filterwarnings("ignore::actors.TornTailWarning")
def test_two_that_die_before_their_sync_leave_a_log_that_can_be_read() -> None:
    for seed in range(40):
        disk = crash_disk(seed)
        FileStore(FOLDER, disk=ProcessDisk(disk)).write(
            "a", [b"1"], info(1), expected=0
        )
        for epoch in (2, 3):
            store = FileStore(FOLDER, disk=DiskOfOneWrite(disk))
            with pytest.raises(ProcessGone):
                store.write("a", [b"%d" % epoch], info(epoch), expected=epoch - 1)
        record = FileStore(FOLDER, disk=disk.lose_power()).read("a")
        assert record is not None
        assert list(record.entries) == [b"1", b"2", b"3"][: len(record.entries)]
