"""docs/scheduling.md is true: its tables are the engine's numbers, its examples are played line by line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.engine.autoscale import AutoscaleSettings, DemandInputs, ScaleState, decide_target
from cronoq_cli.engine.gathering import GroupTemplate
from cronoq_cli.engine.pools import GroupPlan, PoolPlan
from cronoq_cli.engine.resources import Bucket, Semaphore
from cronoq_cli.engine.sharing import TotalWorkers
from cronoq_cli.engine.state import State
from cronoq_cli.errors import CronoqError
from cronoq_cli.model.lifecycle import FINAL, Status
from cronoq_cli.model.task import Priority
from tests.engine.story import Story, spec
from tests.engine.workloads import compare_orders

PAGE = (Path(__file__).parents[2] / "docs" / "scheduling.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```example\n(.*?)```", PAGE, re.DOTALL)
LINE = re.compile(r"at (\S+)\s+(.*?)\s{2,}(.*)")
OUTCOMES = {"misses": Status.MISSED, "sheds": Status.SHED, "ends": Status.SUCCEEDED}


def read_table(first_column: str) -> list[list[str]]:
    """The rows of the table whose header begins so."""
    lines = PAGE.split(f"| {first_column} |", 1)[1].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines[: lines.index("")]]
    assert rows
    return rows


def pairs(words: list[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words if "=" in word)


class Example:
    """One example of the page: its setting, and a story that is played by its lines."""

    def __init__(self, text: str) -> None:
        self.setups: list[Callable[[State], None]] = []
        self.groups: list[GroupPlan] = []
        self.plan: dict[str, Any] = {}
        self.lines: list[tuple[float, list[str], str]] = []
        for line in text.splitlines():
            found = LINE.fullmatch(line)
            if found is None:
                self._set(line.split())
            else:
                self.lines.append((float(found[1]), found[2].split(), found[3].strip()))
        plan = PoolPlan(**self.plan, groups=tuple(self.groups))
        self.story = Story(plan, setup=lambda state: [setup(state) for setup in self.setups] and None)
        self.began = self.story.now.wall
        self.ids: dict[str, int] = {}
        self.seen: set[int] = set()

    def _set(self, words: list[str]) -> None:
        kind, values = words[0], pairs(words[1:])
        if kind == "pool":
            known = {"workers": int, "max_pending": int, "overflow": str}
            self.plan = {name: known[name](text) for name, text in values.items() if name in known}
            self.plan["tenant_weights"] = {n: float(text) for n, text in values.items() if n not in known}
            self.plan["fair_share"] = "fair_share" in words
        elif kind == "group":
            workers = int(values.pop("workers"))
            self.groups.append(GroupPlan(values, workers))
        elif kind == "resource":
            self.setups.append(lambda state: state.resources.configure(words[1], _make_resource(values)))
        else:
            assert kind == "gather", words
            numbers = {f"{name}_s" if name != "max_size" else name: int(text) for name, text in values.items()}
            template = GroupTemplate(spec(words[1]), **numbers)
            self.setups.append(lambda state: state.groups.update({words[1]: template}))

    def play(self) -> Iterator[tuple[list[str], str, str]]:
        """Each line: what happens, what the page says it brings about, and what it does."""
        for at, words, wanted in self.lines:
            self.story.pass_time(self.began + at - self.story.now.wall)
            try:
                self._act(words)
            except CronoqError as error:
                yield words, wanted, f"refused {int(error.exit)}"
            else:
                yield words, wanted, self._describe(words)

    def _act(self, words: list[str]) -> None:
        if words[0] == "submit":
            self.ids[words[1]] = self.story.submit(words[1], **self._read_options(words[2:]))
        elif words[0] == "end":
            self.story.end(self._id_of(words[1]), run_s=0.0)
        else:
            assert words == ["wait"]

    def _id_of(self, name: str) -> int:
        return max(record.id for record in self.story.shelf.tasks.values() if record.spec.name == name)

    def _read_options(self, words: list[str]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for option, text in zip(words[::2], words[1::2], strict=True):
            match option:
                case "-P":
                    fields["priority"] = Priority[text.upper()]
                case "--use":
                    fields["uses"] = {name: float(amount) for name, amount in pairs([text]).items()}
                case "--on":
                    fields["labels"] = pairs([text])
                case "--slots":
                    fields["slots"] = int(text)
                case "--estimate":
                    fields["estimate_s"] = float(text)
                case "--deadline" | "--start-at" | "--expires":
                    name = {"--expires": "expires_at", "--start-at": "start_at"}.get(option, "deadline")
                    fields[name] = self.story.now.wall + float(text)
                case _:
                    fields[option.strip("-").replace("-", "_")] = text
        return fields

    def _describe(self, words: list[str]) -> str:
        parts = []
        started = [self.story.record(task).spec.name for task in self.story.started()]
        if started:
            parts.append("starts " + " ".join(started))
        for word, status in OUTCOMES.items():
            news = [task for task in self.story.ids(status) if task not in self.seen]
            names = [self.story.record(task).spec.name for task in news if words[:1] != ["end"] or word != "ends"]
            if word == "ends":
                names = [self.story.record(task).spec.name for task in news if self.story.record(task).gathered_by]
            if names:
                parts.append(f"{word} " + " ".join(names))
        self.seen.update(task.id for task in self.story.shelf.tasks.values() if task.status in FINAL)
        return ", ".join(parts) or "-"


def _make_resource(values: dict[str, str]) -> Semaphore | Bucket:
    if "permits" in values:
        return Semaphore(int(values["permits"]))
    return Bucket(float(values["rate"]), float(values["burst"]), 5000.0)


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_of_the_page_comes_out_as_written(text: str) -> None:
    for words, wanted, found in Example(text).play():
        assert found == wanted, " ".join(words)


def test_the_table_of_scores_is_right() -> None:
    seconds = (0, 45, 46, 400, 3600)
    for word, *scores in read_table("class"):
        story = Story(1)
        story.submit()
        task = story.task(story.submit(priority=Priority[word.upper()]))
        found = [story.engine.state.score(task, story.now.wall + at) for at in seconds]
        assert found == [float(score) for score in scores], word


def test_the_table_of_urgency_is_right() -> None:
    story = Story(1)
    story.submit()
    task = story.task(story.submit(deadline=story.now.wall + 60, estimate_s=10.0))
    plain = story.task(story.submit())
    for now, slack, urgency in read_table("now"):
        at, score = story.now.wall + float(now), story.engine.state.score
        assert 60 - 10 - float(now) == float(slack)
        assert score(task, at) - score(plain, at) == pytest.approx(float(urgency)), now


def test_the_figures_of_missed_deadlines_are_those_of_the_engine() -> None:
    found = compare_orders(seed=0)
    for name, *figures in read_table("order"):
        misses = found.pop(name)
        assert [f"{misses.all:.2f}", f"{misses.critical:.2f}"] == figures, name
    assert not found


def test_fewer_deadlines_are_missed_than_by_peers() -> None:
    rows = {name: [float(figure) for figure in figures] for name, *figures in read_table("order")}
    ours = rows.pop("cronoq")
    assert ours[0] < rows["first in, first out"][0]
    assert ours[0] < rows["strict priority"][0]
    assert ours[1] < rows["earliest deadline first"][1]


def test_the_table_of_demand_is_right() -> None:
    for rate, normal, high, fixed, demand, workers in read_table("arrivals a second"):
        waiting = [float(number) * 10.0 for number in (0, normal, high, 0)]
        inputs = DemandInputs(
            arrival_rate=float(rate),
            service_s=10.0,
            backlog=int(normal) + int(high),
            waiting_work_s=(waiting[0], waiting[1], waiting[2], waiting[3]),
            reserved=int(fixed),
            current=16,
            least=0,
            most=16,
        )
        decision = decide_target(AutoscaleSettings(slo_s={"high": 10.0, "normal": 120.0}), inputs, ScaleState(), 0.0)
        assert (decision.demand, decision.wanted) == (pytest.approx(float(demand)), int(workers))


def test_pools_of_weight_6_3_and_1_hold_6_3_and_1_of_ten_workers() -> None:
    weights = {"critical": 6.0, "normal": 3.0, "low": 1.0}
    plans = {name: PoolPlan(10, weight=weight) for name, weight in weights.items()}
    story = Story(0, setup=lambda state: setattr(state, "total", TotalWorkers(10)), **plans)
    for _ in range(40):
        for name in weights:
            story.submit(pool=name)
    for _ in range(60):
        story.end(min(story.ids(Status.RUNNING)))
    assert {name: story.engine.state.pools[name].busy for name in weights} == {"critical": 6, "normal": 3, "low": 1}
