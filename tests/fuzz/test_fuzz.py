"""Bad input at every surface: refused in our own words, no traceback, no hang. `python -m tests.fuzz` does more."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.fuzzing import CORPUS, find_fault, fuzz, list_corpus, watched
from tests.fuzz.surfaces import SURFACES

INPUTS = 300


@pytest.mark.parametrize("name", SURFACES)
def test_the_kept_inputs_of_a_surface_are_taken_or_refused(name: str) -> None:
    with watched():
        for data in [*SURFACES[name].seeds, *list_corpus(name)]:
            fault = find_fault(name, data)
            assert fault is None, f"{data!r}\n{fault}"


def test_every_kept_input_belongs_to_a_surface() -> None:
    names = {path.name.partition(".")[0] for path in CORPUS.iterdir()}
    assert names <= SURFACES.keys()


@pytest.mark.parametrize("name", SURFACES)
def test_mutated_inputs_are_taken_or_refused(name: str) -> None:
    tried, faults = fuzz(name, INPUTS)
    assert tried == INPUTS
    assert not faults, f"{faults[0][0]!r}\n{faults[0][1]}"


@pytest.mark.parametrize("name", SURFACES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(data=st.one_of(st.binary(max_size=200), st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace"))))
def test_arbitrary_inputs_are_taken_or_refused(name: str, data: bytes) -> None:
    with watched():
        fault = find_fault(name, data)
    assert fault is None, f"{data!r}\n{fault}"


def test_a_fault_and_a_hang_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness itself: what raises, and what never ends, is told."""

    def hang(_data: bytes) -> None:
        while True:
            pass

    monkeypatch.setattr("tests.fuzz.fuzzing.LONGEST_S", 0.05)
    with watched():
        for name, broken in (("duration", lambda data: 1 // 0), ("time", hang)):
            surface = SURFACES[name]
            monkeypatch.setitem(SURFACES, name, type(surface)(broken, surface.seeds, surface.words))
        assert "ZeroDivisionError" in (find_fault("duration", b"x") or "")
        assert "took longer" in (find_fault("time", b"x") or "")
