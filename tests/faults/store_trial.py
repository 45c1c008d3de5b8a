"""A program run with a faulty disk: a store is written while one of its calls after the other fails, each in a life
of its own. It prints what went wrong, and how many faults met a commit.

`python -m tests.faults.store_trial PLACE CALL ERROR COUNT STRIDE`: COUNT calls fail, beginning with the first, in the
next life with the one STRIDE later, and so on. The plan of the disk is the file FAULTY_DISK names.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from cronoq_cli.errors import StoreBusyError, StoreError, StoreFullError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import TaskRecord, TaskSpec
from cronoq_cli.store.contract import Changes
from cronoq_cli.store.sqlite import open_store
from cronoq_cli.store.sqlite.keeping import check_store
from cronoq_cli.store.sqlite.writer import SqliteStore

COMMITS = 8
CALLS = 160
"""More than a life without faults has: the last fault comes too late."""


@dataclass
class Life:
    """One life of a store: what was acknowledged, what was refused, what is not as promised."""

    place: Path
    known: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    faults: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The store."""
        return str(self.place / "cronoq.db")

    def open(self) -> SqliteStore | None:
        """The store; None where its opening was refused in our words."""
        try:
            store = open_store(self.path)
        except StoreError as error:
            self.faults += 1
            if error.code == "damaged":
                self.problems.append(f"a disk that fails is taken for a damaged store: {error.message}")
            return None
        try:
            store.claim("trial", 0.0)
        except StoreError:
            self.faults += 1
            close(store)
            return None
        return store

    def commit(self, store: SqliteStore, number: int) -> None:
        """Two tasks in one commit, acknowledged or refused."""
        try:
            store.commit(Changes(new=[record(2 * number), record(2 * number + 1)]))
        except (StoreFullError, StoreBusyError):
            self.faults += 1
            self.refused.append(number)
            self.check_copy("after a refusal")
        else:
            self.known.append(number)

    def check_copy(self, when: str) -> None:
        """The power fails now: all that was acknowledged is on the disk, and every commit whole."""
        copy = self.place / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for end in ("", "-wal"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copy(self.path + end, copy / f"crash.db{end}")
        self.check(str(copy / "crash.db"), when)

    def check(self, path: str, when: str) -> None:
        """A store that can be opened has what was acknowledged, and no half of a commit."""
        try:
            with contextlib.closing(open_store(path)) as store:
                store.claim("check", 0.0)
                kept = store.load_live()
                found = {task.id for task in kept.tasks}
        except StoreError as error:
            self.problems.append(f"{when}: {error.message}")
            return
        lost = [number for number in self.known if not {2 * number, 2 * number + 1} <= found]
        halves = [number for number in self.refused if len({2 * number, 2 * number + 1} & found) == 1]
        if lost or halves or kept.damaged:
            self.problems.append(f"{when}: lost {lost}, halves {halves}, damaged {kept.damaged}")
        self.problems += [f"{when}: {trouble}" for trouble in check_store(path)]


def record(number: int) -> TaskRecord:
    """A task that waits, large enough to fill pages."""
    spec = TaskSpec(name=f"t{number}", command=["true", "x" * 3000])
    return TaskRecord(id=number, spec=spec, status=Status.READY, seq=float(number), submitted_at=0.0, updated_at=0.0)


def close(store: SqliteStore) -> None:
    """Close it, whatever the disk says."""
    with contextlib.suppress(StoreError):
        store.close()


def live(place: Path, plan: Path, fault: str) -> Life:
    """Open, commit, fold the -wal in between, close, open again and commit, while the fault comes; then all is well."""
    life = Life(place)
    place.mkdir()
    plan.write_text(fault)
    for half in (range(1, COMMITS), range(COMMITS, 2 * COMMITS)):
        store = life.open() or life.open() or life.open() or life.open()
        if store is None:
            continue
        for number in half:
            life.commit(store, number)
            if number % 3 == 0:
                with contextlib.suppress(Exception):
                    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        close(store)
    plan.unlink()
    life.check(life.path, "in the end")
    return life


def main(words: list[str]) -> int:
    """Try it with the fault at one call after the other."""
    place, call, error, count, stride = Path(words[0]), words[1], words[2], words[3], int(words[4])
    plan = Path(os.environ["FAULTY_DISK"])
    met, refused, problems = 0, 0, []
    for skip in range(0, CALLS, stride):
        life = live(place / f"{call}-{skip}", plan, f"{call} cronoq.db {error} {skip} {count}\n")
        shutil.rmtree(life.place)
        problems += [f"{call} {skip}: {problem}" for problem in life.problems]
        met, refused = met + bool(life.faults), refused + len(life.refused)
    print("\n".join(problems[:20]))
    print(f"{met} {refused} {len(problems)}  lives that met a fault, commits refused, problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
