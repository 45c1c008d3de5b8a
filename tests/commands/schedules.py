"""A table of schedules in memory that answers the requests about them, for command lines in-process.

As simple as the contract of wire/schedules allows: no clock runs here, and no occurrence is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from cronoq_cli.engine.cron import list_next, parse_cron
from cronoq_cli.errors import NotFoundError
from cronoq_cli.model.moment import format_utc, load_zone
from cronoq_cli.model.recurring import ScheduleSpec
from cronoq_cli.model.schedule_words import describe_cron, describe_every, describe_reboot
from cronoq_cli.store.contract import iter_env
from cronoq_cli.wire.requests import Reply, Request
from cronoq_cli.wire.schedules import (
    ApplySchedules,
    PauseSchedules,
    RefreshSchedules,
    RemoveSchedules,
    ResumeSchedules,
    Schedules,
)
from tests.commands.conftest import NOW, FakeGateway

MACHINE_ZONE = "Europe/Berlin"


@dataclass
class Entry:
    """One schedule: what it is, and whether it rests."""

    spec: ScheduleSpec
    paused: bool = False
    paused_until: float | None = None
    pause_reason: str | None = None
    last: dict[str, Any] | None = None
    broken: bool = False
    skips: list[str] = field(default_factory=list)


@dataclass
class TableGateway(FakeGateway):
    """Keeps schedules; everything else is answered as the FakeGateway does."""

    table: dict[str, Entry] = field(default_factory=dict)
    envs: dict[str, bytes] = field(default_factory=dict)

    def ask(self, request: Request) -> Reply:
        """Keep the request and carry it out."""
        if type(request) in self.replies:
            return super().ask(request)
        self.requests.append(request)
        match request:
            case ApplySchedules():
                return self._apply(request)
            case Schedules():
                names = sorted(self.table) if request.names is None else request.names
                return Reply(doc={"recurring": [self._describe(self._get(name), request) for name in names]})
            case RemoveSchedules():
                gone = [
                    self._get(name).spec.name for name in request.names or (list(self.table) if request.every else [])
                ]
                for name in gone:
                    del self.table[name]
                return Reply(doc={"removed": gone})
            case PauseSchedules() | ResumeSchedules():
                return self._set_paused(request)
            case RefreshSchedules():
                return self._refresh(request)
        self.requests.pop()
        return super().ask(request)

    def _get(self, name: str) -> Entry:
        if name not in self.table:
            raise NotFoundError(f"no schedule is called {name!r}")
        return self.table[name]

    def _apply(self, request: ApplySchedules) -> Reply:
        words: dict[str, list[str]] = {"added": [], "replaced": [], "unchanged": [], "removed": list(request.removed)}
        entries = []
        for spec in request.specs:
            assert spec.template.env in request.envs or spec.template.env in self.envs
            there = self.table.get(spec.name)
            word = "added" if there is None else "unchanged" if there.spec == spec else "replaced"
            words[word].append(spec.name)
            rests = request.paused if there is None else there.paused
            rests = spec.name in request.pausing or (rests and spec.name not in request.resuming)
            reason = request.pause_reason if there is None else there.pause_reason
            entries.append(Entry(spec, paused=rests, pause_reason=reason))
        if not request.dry_run:
            self.envs |= request.envs
            self.table |= {entry.spec.name: entry for entry in entries}
            for name in request.removed:
                del self.table[name]
            for name in (*request.pausing, *request.resuming):
                self.table[name].paused = name in request.pausing
        return Reply(doc={"recurring": [self._describe(entry, Schedules(next_count=5)) for entry in entries], **words})

    def _set_paused(self, request: PauseSchedules | ResumeSchedules) -> Reply:
        names = request.names or sorted(self.table)
        for name in names:
            entry = self._get(name)
            entry.paused = isinstance(request, PauseSchedules)
            entry.paused_until = getattr(request, "until", None)
            entry.pause_reason = getattr(request, "reason", None)
        return Reply(doc={"recurring": [self._describe(self.table[name], Schedules()) for name in names]})

    def _refresh(self, request: RefreshSchedules) -> Reply:
        self.envs[request.env_id] = request.env
        for name in request.names:
            template = self._get(name).spec.template
            template.env, template.cwd, template.umask = request.env_id, request.cwd, request.umask
        return Reply(doc={"recurring": [self._describe(self.table[name], Schedules()) for name in request.names]})

    def _describe(self, entry: Entry, request: Schedules) -> dict[str, Any]:
        spec = entry.spec
        runs: list[float] = []
        if spec.expr is not None:
            parsed = parse_cron(spec.expr, seconds=spec.seconds)
            after = NOW if request.after is None else request.after
            runs = list_next(parsed, max(1, request.next_count), after, load_zone(spec.tz or MACHINE_ZONE))
            runs = [at for at in runs if spec.until is None or at <= spec.until]
        elif spec.every_s is not None:
            runs = [NOW + spec.every_s * number for number in range(1, max(1, request.next_count) + 1)]
        document = {
            "name": spec.name,
            "expr": "@reboot" if spec.reboot else spec.expr,
            "every": None if spec.every_s is None else spec.when.removeprefix("@every "),
            "seconds": spec.seconds,
            "tz": spec.tz,
            "zone": spec.tz or MACHINE_ZONE,
            "words": _words(spec),
            "command": spec.template.command,
            "shell": spec.template.shell_line,
            "pool": spec.template.pool,
            "overlap": spec.overlap.value,
            "catch_up": spec.catch_up.value,
            "jitter_s": spec.jitter_s,
            "paused": entry.paused,
            "paused_until": None if entry.paused_until is None else format_utc(entry.paused_until),
            "pause_reason": entry.pause_reason,
            "next": None if entry.paused or not runs else format_utc(runs[0]),
            "broken": entry.broken,
            "skips": entry.skips,
            "last": entry.last,
            "next_runs": [] if entry.paused else [format_utc(at) for at in runs[: request.next_count]],
        }
        if request.specs:
            document["spec"] = msgspec.to_builtins(spec)
        if request.env:
            pairs = iter_env(self.envs[spec.template.env])
            document["env"] = {_text(name): _text(value) for name, value in pairs}
        return document


def _words(spec: ScheduleSpec) -> str:
    if spec.expr is not None:
        return describe_cron(parse_cron(spec.expr, seconds=spec.seconds))
    return describe_reboot() if spec.every_s is None else describe_every(spec.every_s)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
