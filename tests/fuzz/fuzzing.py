"""Trying a surface with many inputs: none may raise what is no refusal, and none may take long."""

from __future__ import annotations

import contextlib
import signal
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.mutation import mutate, mutate_json
from tests.fuzz.surfaces import SURFACES, draw_seed

CORPUS = Path(__file__).parent / "corpus"
LONGEST_S = 20.0
"""How long one input may take on a loaded machine before it counts as a hang."""


class Hang(BaseException):
    """An input took too long."""


def _on_alarm(_number: int, _frame: Any) -> None:
    raise Hang


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Within, SIGALRM means a hang."""
    before = signal.signal(signal.SIGALRM, _on_alarm)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def find_fault(name: str, data: bytes) -> str | None:
    """What goes wrong with one input, None when nothing does. Must be called within `watched`."""
    signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
    try:
        SURFACES[name].try_one(data)
    except Hang:
        return f"took longer than {LONGEST_S:g} s"
    except Exception:
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def list_corpus(name: str) -> list[bytes]:
    """The kept inputs of a surface: those that once went wrong, and what is special."""
    return [path.read_bytes() for path in sorted(CORPUS.glob(f"{name}.*"))]


def fuzz(
    name: str, count: int, *, number: int = 0, until: Callable[[], bool] = lambda: False
) -> tuple[int, list[tuple[bytes, str]]]:
    """Try so many inputs; how many were tried, and the inputs that went wrong, one for each kind of fault."""
    surface, draw = SURFACES[name], draw_seed(name, number)
    seeds = [*surface.seeds, *list_corpus(name)]
    faults: dict[str, tuple[bytes, str]] = {}
    tried = 0
    with watched():
        while tried < count and not until():
            structured = surface.is_json and draw.random() < 0.6
            data = mutate_json(draw, surface.seeds) if structured else mutate(draw, seeds, surface.words)
            tried += 1
            fault = find_fault(name, data)
            if fault is not None:
                kind = fault.strip().splitlines()[-1][:60]
                if kind not in faults or len(data) < len(faults[kind][0]):
                    faults[kind] = (data, fault)
    return tried, list(faults.values())
