"""`metrics`: text that a strict reader takes, whatever names are in it; files are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cronoq_cli.commands.metrics import write_whole
from cronoq_cli.commands.render.metrics import format_metrics
from cronoq_cli.errors import InvalidError
from cronoq_cli.model.metrics import counter, describe_families, gauge, histogram
from cronoq_cli.wire.requests import Metrics, Reply
from tests.commands.conftest import Caller
from tests.openmetrics import read_metrics

UGLY = 'a"b\\c\nd\udcff é'


def families() -> list[dict[str, object]]:
    return describe_families(
        [
            gauge("cronoq_up", "Whether\na daemon \\ runs.", [({}, 1)]),
            gauge("cronoq_age_seconds", "Age.", [({"pool": UGLY}, 0.25), ({"pool": ""}, 1e300)], "seconds"),
            counter("cronoq_tasks_ended", "Ends.", [({"pool": "default", "status": "failed"}, 3)]),
            histogram("cronoq_wait_seconds", "Waits.", (0.5, 60.0), {"a": ([1, 0, 2], 300.5), "b": ([0, 0, 0], 0.0)}),
            gauge("cronoq_nothing", "Left out.", []),
        ]
    )


def test_a_strict_reader_takes_the_text_with_ugly_names() -> None:
    found = read_metrics(format_metrics(families()))
    assert list(found) == ["cronoq_up", "cronoq_age_seconds", "cronoq_tasks_ended", "cronoq_wait_seconds"]
    ages = found["cronoq_age_seconds"]
    assert ages.unit == "seconds"
    assert ages.samples == {("", (("pool", 'a"b\\c\nd? é'),)): 0.25, ("", (("pool", ""),)): 1e300}
    waits = found["cronoq_wait_seconds"].samples
    assert [waits["_bucket", (("pool", "a"), ("le", bound))] for bound in ("0.5", "60.0", "+Inf")] == [1, 1, 3]
    assert (waits["_count", (("pool", "a"),)], waits["_sum", (("pool", "a"),)]) == (3, 300.5)


@pytest.mark.parametrize(
    "text",
    [
        "# TYPE a gauge\na 1\n",
        "# TYPE a gauge\nb 1\n# EOF\n",
        '# TYPE a gauge\na{x="\n"} 1\n# EOF\n',
        "# TYPE a_seconds gauge\n# UNIT a_seconds bytes\na_seconds 1\n# EOF\n",
        "# TYPE a counter\na 1\n# EOF\n",
    ],
)
def test_the_reader_of_the_tests_is_strict(text: str) -> None:
    with pytest.raises(ValueError):
        read_metrics(text)


def test_the_text_is_printed_or_written_where_it_is_wanted(caller: Caller, tmp_path: Path) -> None:
    caller.gateway.answer(Metrics, Reply(doc={"metrics": families()}))
    printed = caller("metrics").out
    assert read_metrics(printed)["cronoq_up"].samples == {("", ()): 1.0}
    path = tmp_path / "cronoq.prom"
    done = caller("metrics", "--output", str(path))
    assert (done.status, done.out, path.read_text()) == (0, "", printed)


def test_a_file_is_replaced_at_once_and_readable_for_the_exporter(tmp_path: Path) -> None:
    path = tmp_path / "cronoq.prom"
    path.write_text("old")
    with path.open() as reader:
        write_whole(str(path), "new\n")
        assert reader.read() == "old", "whoever reads the old file reads it to its end"
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new\n", 0o644)
    assert os.listdir(tmp_path) == ["cronoq.prom"]


def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="No such file"):
        write_whole(str(tmp_path / "no" / "x.prom"), "x")
    (tmp_path / "dir").mkdir()
    with pytest.raises(InvalidError, match="directory"):
        write_whole(str(tmp_path / "dir"), "x")
    assert os.listdir(tmp_path) == ["dir"]
