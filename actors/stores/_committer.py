"""What the writer's thread of a database does with the jobs it gets."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

from protocol import StoreUnknown

from ._writer import Job


class Committer(ABC):
    """Does jobs in transactions: writes in groups, everything else one by one.

    It lives in the writer's thread, with a connection of its own.
    """

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Any]:
        """A transaction that is committed at the end of the block.

        Raises:
            StoreUnknown: the commit was not confirmed.
            Exception: anything else; nothing was stored.
        """

    @abstractmethod
    def put(self, db: Any, jobs: list[Job]) -> None:
        """Write what these jobs bring, but for those that conflict."""

    @abstractmethod
    def disconnect(self) -> None:
        """Close the connection; the next transaction makes another one."""

    def __call__(self, jobs: list[Job]) -> None:
        """Do these jobs; none means that the thread ends."""
        if not jobs:
            self.disconnect()
        writes: list[Job] = []
        for job in jobs:
            if job.write is not None:
                writes.append(job)
                continue
            self._commit(writes)
            writes = []
            self._call(job)
        self._commit(writes)

    def _commit(self, jobs: list[Job]) -> None:
        """Commit these together; one that cannot be written does not harm the rest."""
        if not jobs:
            return
        try:
            with self.transaction() as db:
                self.put(db, jobs)
        except StoreUnknown as unknown:
            for job in jobs:
                job.error = job.error or unknown
        except Exception as fault:  # noqa: BLE001 - whatever it is, it was not stored
            if len(jobs) == 1:
                jobs[0].error = fault
            else:
                for job in jobs:
                    self._commit([job])

    def call(self, db: Any, job: Job) -> None:
        """Call the job's function."""
        assert job.fn is not None, "a job is a write or a function"
        job.result = job.fn(db)

    def _call(self, job: Job) -> None:
        try:
            with self.transaction() as db:
                self.call(db, job)
        except Exception as fault:  # noqa: BLE001 - it goes to whoever waits
            job.error = fault
