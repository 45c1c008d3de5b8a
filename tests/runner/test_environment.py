"""The variables of a task, as they are and as the C library takes them."""

from __future__ import annotations

import ctypes

import pytest

from cronoq_cli.runner.environment import CStrings, Environment, NulError, read_variables


def read_array(strings: CStrings) -> list[bytes]:
    """What stands in an array of C strings, up to the null pointer."""
    array = ctypes.cast(strings.address, ctypes.POINTER(ctypes.c_char_p))
    found = []
    while (text := array[len(found)]) is not None:
        found.append(text)
    return found


def test_what_cannot_be_a_variable_is_left_out() -> None:
    texts = ["A=1", "=2", "B", "C=x\0y", "D=", "E=a=b", "F=\udcff", "A=3"]
    assert read_variables(texts) == {"A": "A=3", "D": "D=", "E": "E=a=b", "F": "F=\udcff"}
    assert read_variables([]) == {}
    assert read_variables(["\0"]) == {}


def test_an_array_of_strings_ends_with_a_null_pointer_and_can_begin_with_another() -> None:
    first = CStrings(["a", "", "ccc"])
    assert read_array(first) == [b"a", b"", b"ccc"]
    assert read_array(CStrings(["d"], first)) == [b"a", b"", b"ccc", b"d"]
    assert read_array(CStrings([])) == []


def test_a_tasks_own_variables_go_before_those_it_shares_with_others() -> None:
    shared = Environment(read_variables(["PATH=/bin", "HOME=/", "X=1"]))
    for number in range(3):
        own = shared.extend({"X": str(number), "Y": "y"})
        assert sorted(read_array(own.strings)) == [b"HOME=/", b"PATH=/bin", b"X=%d" % number, b"Y=y"]
        assert own.list_pairs() == {b"HOME": b"/", b"PATH": b"/bin", b"X": b"%d" % number, b"Y": b"y"}
    other = shared.extend({"PATH": "/usr/bin"})
    assert sorted(read_array(other.strings)) == [b"HOME=/", b"PATH=/usr/bin", b"X=1"]
    assert other.search_path == b"/usr/bin"
    assert sorted(read_array(shared.extend({}).strings)) == [b"HOME=/", b"PATH=/bin", b"X=1"]
    assert shared.extend({}).search_path == b"/bin"
    assert sorted(read_array(shared.extend({"Z": "z"}).strings)) == [b"HOME=/", b"PATH=/bin", b"X=1", b"Z=z"]
    assert sorted(read_array(shared.extend({"Y": "\udcff"}).strings)) == [b"HOME=/", b"PATH=/bin", b"X=1", b"Y=\xff"]
    assert Environment({}).extend({}).search_path == b"/bin:/usr/bin"


def test_of_a_tasks_own_variables_too_what_cannot_be_one_is_left_out() -> None:
    shared = Environment(read_variables(["A=1", "B=2"]))
    for wrong in ({"": "x"}, {"C": "\0"}, {"": "\0", "C": "\0"}):
        own = shared.extend(wrong | {"B": "3"})
        assert sorted(read_array(own.strings)) == [b"A=1", b"B=3"]
        assert own.list_pairs() == {b"A": b"1", b"B": b"3"}


def test_a_nul_within_a_string_is_an_error() -> None:
    for texts in (["\0"], ["a", "b\0c"], ["", "\0", ""]):
        with pytest.raises(NulError):
            CStrings(texts)
