"""Where input comes in that cronoq did not write: each surface takes any bytes, and answers or refuses in our words.

A surface is a function of bytes that raises only what a refusal may be; anything else it lets out is a fault.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, get_args
from zoneinfo import ZoneInfo

from cronoq_cli.commands.environment import parse_env_file
from cronoq_cli.commands.selectors import Selection, find_selector, parse_statuses
from cronoq_cli.config.live import parse_pool_changes
from cronoq_cli.config.loading import parse_settings
from cronoq_cli.daemon.reports import MALFORMED, read_report_event
from cronoq_cli.engine.cron import list_next, list_notes, parse_cron, previous_before
from cronoq_cli.errors import CronoqError, InvalidError, ProtocolError, UsageError
from cronoq_cli.model.backoff import parse_backoff
from cronoq_cli.model.crontab import job_environment, parse_crontab
from cronoq_cli.model.duration import format_duration, parse_duration, parse_positive_duration
from cronoq_cli.model.ids import parse_ids
from cronoq_cli.model.moment import format_local, format_utc, parse_moment
from cronoq_cli.model.policy import AttemptEnd, Policy, judge, read_report
from cronoq_cli.model.resource import parse_amount, parse_rate, parse_use
from cronoq_cli.model.task import Backoff, OnLost
from cronoq_cli.model.words import parse_exit_codes, parse_key, parse_signal, parse_size, parse_tag
from cronoq_cli.runner.attempt import Outcome, format_ended
from cronoq_cli.runner.lanes import Lanes
from cronoq_cli.runner.loop import Loop
from cronoq_cli.runner.orders import Orders
from cronoq_cli.runner.records import read_contents, restore_attempt
from cronoq_cli.runner.report import parse_report
from cronoq_cli.runner.supervisor import Supervisor
from cronoq_cli.wire import codec
from cronoq_cli.wire.requests import Reply, Request
from cronoq_cli.wire.runner import Decoder, encode_frame, format_message
from cronoq_cli.wire.schedules import ApplySchedules, Schedules
from tests.commands.conftest import Caller

NOW = 1_790_000_000.0
ZONE = ZoneInfo("Europe/Berlin")


@dataclass(frozen=True)
class Surface:
    """A place of entry: what tries it, inputs to begin with, and words that mean something there."""

    try_one: Callable[[bytes], None]
    seeds: list[bytes]
    words: list[bytes]
    is_json: bool = False
    """Whether the seeds are lines of JSON, whose values can be changed."""


def text_of(data: bytes) -> str:
    """As the operating system's strings arrive."""
    return data.decode("utf-8", "surrogateescape")


def framed(data: bytes) -> bytes:
    """A frame between daemon and runner with these bytes in it."""
    return len(data).to_bytes(4, "big") + data


# -- the daemon's socket ---------------------------------------------------------------------------------------------


def try_client_frames(data: bytes) -> None:
    """What a client sends, in pieces."""
    decoder = codec.FrameDecoder(codec.TO_DAEMON)
    step = 1 + len(data) % 37
    try:
        frames = [frame for at in range(0, len(data), step) for frame in decoder.feed(data[at : at + step])]
        for frame in frames:
            codec.decode_line(frame.payload) if frame.kind == codec.LINE else codec.decode_request(frame.payload)
    except (ProtocolError, InvalidError):
        return


def try_request(data: bytes) -> None:
    """The content of a request."""
    try:
        codec.decode_request(data)
    except (ProtocolError, InvalidError):
        return


def try_answers(data: bytes) -> None:
    """What a daemon answers, as the client takes it."""
    for decode in (codec.decode_reply, codec.decode_error, codec.decode_message, codec.decode_line_answer):
        try:
            decode(data)
        except ProtocolError:
            continue


# -- between daemon and runner -----------------------------------------------------------------------------------------


class NoTakeover:
    """Other journals are none of this test's."""

    def find(self, path: str) -> None:
        if not isinstance(path, str):
            raise TypeError("a path is text")


@cache
def get_supervisor() -> Supervisor:
    """One for all inputs: each would open descriptors of its own. What it says must be JSON."""
    return Supervisor(Loop(), lambda text, at_once=False: json.loads(text), lambda reports: None)


def try_orders(data: bytes) -> None:
    """What the runner is told. Nothing is started: that happens at the end of a turn, and there is none."""
    supervisor = get_supervisor()
    supervisor.lanes, supervisor.closing = Lanes(), False
    supervisor.ended.clear()
    orders = Orders(supervisor, NoTakeover())  # type: ignore[arg-type]
    try:
        messages = Decoder().feed(framed(data))
    except ProtocolError:
        return
    for message in messages:
        orders.carry_out(message)


def try_runner_frames(data: bytes) -> None:
    """Bytes as they come from either side, in pieces."""
    decoder, step = Decoder(), 1 + len(data) % 37
    try:
        for at in range(0, len(data), step):
            decoder.feed(data[at : at + step])
    except ProtocolError:
        return


def try_reports(data: bytes) -> None:
    """What the daemon is told by a runner: only these errors are taken for a malformed report."""
    try:
        messages = Decoder().feed(framed(data))
    except ProtocolError:
        return
    for message in messages:
        with contextlib.suppress(*MALFORMED):
            read_report_event(message)


# -- files and words -------------------------------------------------------------------------------------------------


def try_configuration(data: bytes) -> None:
    """The configuration file."""
    try:
        parse_settings(data, "config.toml")
    except InvalidError:
        return


def try_crontab(data: bytes) -> None:
    """A crontab: nothing in it may raise."""
    found = parse_crontab(data, judge=parse_cron, system=len(data) % 2 == 1, user="ann")
    for job in found.jobs:
        job_environment(job, user="ann", home="/home/ann")
    found.list_errors()
    found.list_warnings()


def try_cron(data: bytes) -> None:
    """A cron expression, and when it is due."""
    try:
        expression = parse_cron(text_of(data), seconds=len(data) % 2 == 1)
    except (InvalidError, UsageError):
        return
    list_notes(expression)
    list_next(expression, 3, NOW, ZONE)
    previous_before(expression, NOW, ZONE)


def try_time(data: bytes) -> None:
    """A moment."""
    try:
        at = parse_moment(text_of(data), now=NOW, zone=ZONE)
    except UsageError:
        return
    format_utc(at)
    format_local(at, ZONE, now=NOW)


def try_duration(data: bytes) -> None:
    """A length of time."""
    try:
        length_s = parse_duration(text_of(data))
        parse_positive_duration(text_of(data))
    except UsageError:
        return
    assert 0 < length_s < float("inf")
    format_duration(length_s)


WORDS: tuple[Callable[[str], object], ...] = (
    parse_size, parse_backoff, parse_exit_codes, parse_signal, parse_key, parse_tag, parse_use, parse_rate,
    parse_amount, parse_ids, lambda text: parse_pool_changes([text]),
)  # fmt: skip


def try_words(data: bytes) -> None:
    """Sizes, backoffs, exit codes, signals, keys and other words of a command line."""
    for parse in WORDS:
        try:
            parse(text_of(data))
        except CronoqError:
            continue


def try_selectors(data: bytes) -> None:
    """What names tasks."""
    words = text_of(data).split(" ")
    for selection in (Selection(tasks=words), Selection(pool=words, tag=words, name=words[0])):
        try:
            find_selector(selection)
        except UsageError:
            continue
    try:
        parse_statuses(words)
    except UsageError:
        return


POLICY = Policy(
    kind="k",
    retries=2,
    backoff=Backoff(),
    retry_on=frozenset(),
    no_retry_on=frozenset(),
    success_codes=frozenset(),
    on_lost=OnLost.COUNT,
    stop_signal=15,
    grace_s=1.0,
)


def try_report(data: bytes) -> None:
    """A report file, and what is made of it: a task can write there what it likes."""
    pairs = parse_report(data)
    end = AttemptEnd(started_at=NOW, ended_at=NOW, run_s=1.0, exit_code=len(data) % 3, report=pairs)
    report = read_report(end.report)
    judge(POLICY, end, report)
    json.dumps([report.progress, report.outputs, report.message])


def try_journal(data: bytes) -> None:
    """What a dead runner, or a disk, has left: records that are none are passed over, and what is told is JSON."""
    descriptor = os.memfd_create("journal")
    try:
        os.write(descriptor, data)
        contents = read_contents(descriptor)
    finally:
        os.close(descriptor)
    for token in contents.list_open():
        attempt = restore_attempt(contents.begun[token], contents.pids.get(token))
        json.loads(format_ended(attempt, Outcome(run_s=1.0)))
    for record in contents.ended.values():
        with contextlib.suppress(*MALFORMED):  # told by the daemon, and passed over
            read_report_event(json.loads(format_message(record)))


def try_env_file(data: bytes) -> None:
    """A file of `--env-file`."""
    with contextlib.suppress(UsageError, InvalidError):
        parse_env_file(text_of(data), "env", {"A": "b"})


def try_submit_words(data: bytes) -> None:
    """The words of `submit`, divided by NUL: a request, or one line that says what was wrong."""
    caller = Caller("/")
    line = caller("submit", *(text_of(word) for word in data.split(b"\0")))
    assert line.status in (0, 1, 2, 3, 4, 7, 75, 125), (line.status, line.err)
    assert line.status == 0 or (line.err.startswith("cronoq") and "Traceback" not in line.err), line.err


def try_schedules(data: bytes) -> None:
    """What `recurring import -` reads: schedules as TOML or a crontab, all of them or none."""
    caller = Caller("/")
    caller.stdin = data
    for kind in (Schedules, ApplySchedules):
        caller.gateway.answer(kind, Reply(doc={"recurring": []}))
    line = caller("recurring", "import", "-")
    assert line.status in (0, 1, 2, 7), (line.status, line.err)
    assert "Traceback" not in line.err, line.err


def try_batch(data: bytes) -> None:
    """The lines of `submit --batch -`: queued whole, or refused in one line and nothing queued."""
    caller = Caller("/")
    caller.stdin = data
    line = caller("submit", "--batch", "-")
    assert line.status in (0, 2, 7), (line.status, line.err)
    assert (line.status == 0) == bool(caller.gateway.requests)
    assert line.status == 0 or (line.err.startswith("cronoq: ") and "Traceback" not in line.err), line.err


# -- all of them -----------------------------------------------------------------------------------------------------

_START = {
    "order": "start", "token": "s:1:1", "lane": "default", "width": 1, "argv": ["true"], "env": "e", "vars": {"A": "b"},
    "cwd": "/", "umask": 18, "nice": 5, "stdin": None, "log": "/l", "stderr_log": None, "stdout": None, "stderr": None,
    "report": "/r", "timeout_s": 1.5, "kill_at": 2.5, "heartbeat_s": 3.0, "stop_signal": 15, "grace_s": 1.0,
    "leftovers": "kill", "rlimits": {"nofile": 10}, "log_cap": 4194304,
}  # fmt: skip
_ORDERS: list[dict[str, Any]] = [
    {"order": "lanes", "lanes": {"default": 2}},
    {"order": "env", "id": "e", "vars": ["A=b"]},
    _START,
    {"order": "stop", "token": "s:1:1", "signal": 15, "grace_s": 1.0, "cause": "cancelled"},
    {"order": "revoke", "token": "s:1:1"},
    {"order": "signal", "token": "s:1:1", "signal": 10},
    {"order": "find", "journal": "/j"},
    {"order": "forget", "tokens": ["s:1:1"]},
    {"order": "close"},
]
_REPORTS: list[dict[str, Any]] = [
    {"event": "started", "token": "s:1:1", "pid": 7, "at": 1.5, "slot": 0},
    {
        "event": "ended", "token": "s:1:1", "started_at": 1.0, "ended_at": 2.0, "run_s": 1.0, "pid": 7, "exit_code": 1,
        "signal": None, "core": False, "cause": None, "error": {"kind": "command", "message": "m"},
        "report": [["progress", "0.5"]], "cpu_user_s": 0.1, "cpu_system_s": 0.1, "max_rss": 1, "log_size": 1,
        "left_behind": 0,
    },
    {"event": "revoked", "token": "s:1:1"},
    {"event": "unknown", "token": "s:1:1"},
]  # fmt: skip
_RECORDS: list[dict[str, Any]] = [
    {"record": "boot", "runner": "r", "boot_id": "b", "pid": 1, "ticks": 2, "version": 1, "socket": "/s"},
    {
        "record": "begin", "token": "s:1:1", "stop_signal": 15, "grace_s": 5.0, "at": 1.5, "awake": 2.5, "log": "/l",
        "stderr_log": None, "report": "/r",
    },
    {"record": "pid", "token": "s:1:1", "pid": 7, "ticks": 8},
    {**_REPORTS[1], "token": "s:2:1"},
    {"record": "forgot", "tokens": ["s:2:1"]},
]  # fmt: skip
_LINE = codec.encode_line(codec.CommandLine(["submit", "-n", "x", "true"], "/", {"A": "b"}, 18))
_REQUEST = b'{"protocol":1,"client":"0.1.0","request":{"type":"cancel","select":{"refs":["3"],"tags":{"a":null}}}}'
_SUBMIT = (
    b'{"protocol":1,"client":"0.1.0","request":{"type":"submit","specs":[{"name":"a","command":["true"],'
    b'"after":[{"ref":"1","condition":"success"}]}],"envs":{"h":"QT1i"},"stdins":{"0":"YQ=="}}}'
)


def _dump(value: Any) -> bytes:
    return json.dumps(value).encode("ascii")


def _encode_request(kind: Any) -> bytes:
    """A request of that kind with nothing but its name: what it lacks is one of the refusals."""
    return _dump({"protocol": codec.PROTOCOL, "client": codec.VERSION, "request": {"type": kind.__struct_config__.tag}})


_FIELDS = [
    b'"after"', b'"key"', b'"retries"', b'"backoff"', b'"timeout"', b'"at"', b'"in"', b'"use"', b'"tag"', b'"env"',
    b'"start_at"', b'"deadline"', b'"expires"', b'"slots"', b'"group"', b'"on"', b'"priority"', b'"stdin"', b'"shell"',
]  # fmt: skip
_DURATIONS = [b"90s", b"1h30m", b"2d", b"500ms", b"1.5h", b"10"]

SURFACES: dict[str, Surface] = {
    "client-frames": Surface(
        try_client_frames, [_LINE, codec.encode_frame(b"Q", _REQUEST), codec.encode_frame(b"Q", _SUBMIT)], [b"Q", b"A"]
    ),
    "request": Surface(
        try_request,
        [_REQUEST, _SUBMIT, *map(_encode_request, get_args(Request))],
        [b'"type"', b'"select"', b'"refs"', b'"submit"', b'"show"'],
        is_json=True,
    ),
    "answers": Surface(
        try_answers,
        [b'{"doc":{"tasks":[]},"exit":0,"notes":[]}', b'{"code":"x","message":"m","exit":7}'],
        [b'"doc"', b'"exit"', b'"hint"'],
        is_json=True,
    ),
    "runner-orders": Surface(
        try_orders,
        [_dump(_ORDERS), *(_dump([one]) for one in _ORDERS)],
        [b'"order"', b'"token"', b'"s:1:1"'],
        is_json=True,
    ),
    "runner-reports": Surface(
        try_reports, [_dump([one]) for one in _REPORTS], [b'"event"', b'"error"', b'"report"', b'"at"'], is_json=True
    ),
    "runner-frames": Surface(try_runner_frames, [encode_frame(_ORDERS), encode_frame(_REPORTS) * 2], [b"[", b"]"]),
    "configuration": Surface(
        try_configuration,
        [
            b'[daemon]\nautostart = true\nstop_timeout = "30s"\n[logs]\ncap = "64MiB"\n',
            b"[pools.default]\nworkers = { min = 0, max = 4 }\nbackoff = 'fixed:1s'\nrlimits = { nofile = 1 }\n",
            b'[resources.gpu]\npermits = 2\n[resources.api]\nrate = "10/s"\n',
            b'[groups.m]\ncommand = ["x"]\ngrace = "1m"\n',
            b"[[pools.b.groups]]\nlabels = { a = 'b' }\nworkers = 1\n[priorities]\nlow = 1\n",
        ],
        [b"[pools.x]", b"workers", b"autoscale", b"= ", b"inf", b"nan", b"1979-05-27", b"[[", b"]]"],
    ),
    "crontab": Surface(
        try_crontab,
        [
            b"MAILTO=a@b\n*/5 * * * * echo hi\n@daily run %in%more\n# comment\nCRON_TZ=Europe/Berlin\n",
            b"0 3 * * 1-5 root /bin/x\n@reboot y\nSHELL=/bin/bash\n",
        ],
        [b"@hourly", b"* * * * *", b"MON", b"CRON_TZ=", b"\\%", b"# name: x"],
    ),
    "cron-expression": Surface(
        try_cron,
        [b"*/5 * * * *", b"0 3 1-7 * mon", b"@yearly", b"0 0 29 2 *", b"15,45 */2 L * 5#2", b"1 2 3 4 5 6"],
        [b"L", b"W", b"#", b"@every", b"H", b"?", b"JAN", b"SUN", b"31", b"*/"],
    ),
    "time": Surface(
        try_time,
        [b"2026-09-13T12:00:00Z", b"tomorrow 03:00", b"+2h", b"fri 18:00", b"18:30", b"2026-03-29 02:30", b"now"],
        [b"+02:00", b"Z", b"24:00", b"9999-12-31", b"0001-01-01", b"noon", b"@1700000000"],
    ),
    "duration": Surface(try_duration, _DURATIONS, [b"h", b"m", b"s", b"ms", b"d", b"w", b"."]),
    "words": Surface(
        try_words,
        [b"64MiB", b"exponential:10s..10m", b"1-5,7", b"TERM", b"SIGRTMIN+3", b"key/a", b"a=b", b"gpu=2", b"10/s",
         b"3-8", b"workers=1..8", b"max_pending=none"],
        [b"fixed:", b"polynomial", b"..", b"-", b"/h", b"GiB"],
    ),
    "selectors": Surface(
        try_selectors, [b"1 3-8 last key/x", b"ready,dead-lettered", b"a=b c"], [b"last", b"3-", b",,"]
    ),
    "report-file": Surface(
        try_report,
        [b"outcome=retry\nretry_after=30s\n", b"progress=12/50\noutput.A=b\nmessage=hi\n", b"outcome=dead\n"],
        [b"outcome=", b"progress=", b"1/0", b"retry_after=", b"output.", b"not-counted"],
    ),
    "journal": Surface(
        try_journal,
        [_dump(record) + b"\n" + b"\n".join(map(_dump, _RECORDS[:4])) + b"\n" for record in _RECORDS],
        [b'"record"', b'"token"', b'"begin"', b'"forgot"', b'"s:1:1"', b'"awake"'],
        is_json=True,
    ),
    "env-file": Surface(
        try_env_file,
        [b"A=b\nexport C='d e'\n# no\n\nE=\"f\\n\"\n", b"A\nB=\xff\n"],
        [b"export ", b"'", b'"', b"\\\n", b"=", b"#"],
    ),
    "submit-words": Surface(
        try_submit_words,
        [
            b"-n\0x\0--retries\x002\0--backoff\0fixed:1s\0--\0true",
            b"--after\x001,last\0-t\0a=b\0--in\x001h\0-c\0echo hi",
            b"--array\x000-9%3\0--use\0gpu=1\0--slots\x002\0--deadline\0+2h\0echo\0{}",
            b"--start-at\0tomorrow 03:00\0--tolerance\x005s\0--on-miss\0skip\0-E\0A=b\0--key\0k\0--once\0make",
        ],
        [b"\0--", b"--json", b"--hold", b"--priority\0high", b"--umask\0", b"--nice\0", b"--group\0", b"--on\0a=b"],
    ),
    "schedules": Surface(
        try_schedules,
        [
            b'[recurring.a]\ncron = "0 3 * * *"\ntz = "UTC"\ncommand = ["x", "y"]\n',
            b'[recurring.b]\nevery = "10s"\nshell = "z"\noverlap = "queue"\n',
            b"*/5 * * * * echo hi\n@daily run\n",
            b"# name: nightly\n# cronoq: --overlap queue\n30 2 * * * echo x\n",
        ],
        [b"[recurring.x]", b"cron = ", b"every = ", b"# cronoq: ", b"--tz ", b"on_failure", b"@reboot", b"overlap"],
    ),
    "batch": Surface(
        try_batch,
        [
            b'{"command": ["make"], "key": "a", "retries": 2}\n{"shell": "x", "after": "a", "tag": {"a": "b"}}\n',
            b'{"command": ["m"], "env": {"A": null}, "timeout": 5.0, "at": "tomorrow 03:00", "use": {"gpu": 1}}\n',
        ],
        _FIELDS,
        is_json=True,
    ),
}  # fmt: skip


def draw_seed(name: str, number: int) -> Random:
    """The draw of one run over a surface."""
    return Random(f"{name}:{number}")
