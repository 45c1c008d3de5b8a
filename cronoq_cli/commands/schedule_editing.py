"""Editing the table of schedules as a text: what a changed text asks for, and a refused one offered again.

How tables look as text stands in `schedule_toml`. The editor is the client's.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from cronoq_cli.commands.answers import ask
from cronoq_cli.commands.context import Context, Streams
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.lines import print_line
from cronoq_cli.commands.render.notes import print_error
from cronoq_cli.commands.schedule_names import expand_names
from cronoq_cli.commands.schedule_store import Kept, load_kept
from cronoq_cli.commands.schedule_table import is_paused, read_schedule
from cronoq_cli.commands.schedule_toml import format_tables, parse_tables
from cronoq_cli.errors import CronoqError, InvalidError
from cronoq_cli.model.recurring import ScheduleSpec
from cronoq_cli.wire.schedules import ApplySchedules

HEADING = """The recurring schedules of cronoq: save and leave to change them.
What is gone here is removed; a new table [recurring.NAME] is added. Its fields are the options of
cronoq recurring add, with _ for -; when = '30 2 * * *' and shell = '...' or command = ['...', '...'] are needed.
Comments are kept, above the table they belong to."""
SUFFIX = ".toml"


@dataclass(slots=True)
class Wanted:
    """What a text asks for, beside what is there."""

    specs: list[ScheduleSpec] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    paused: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return any((self.specs, self.removed, self.paused, self.resumed))

    def to_request(self, kept: Kept, *, dry_run: bool = False) -> ApplySchedules:
        """All of it in one: made together, or not at all."""
        return ApplySchedules(
            specs=self.specs,
            envs={spec.template.env: kept.environments.known[spec.template.env] for spec in self.specs},
            removed=self.removed,
            pausing=self.paused,
            resuming=self.resumed,
            dry_run=dry_run,
        )


def edit_schedules(context: Context, names: list[str], *, json: bool) -> int:
    """Let the caller edit the table, or the schedules named, and make the changes; the exit status.

    Raises InvalidError when nothing was changed; the text is kept then."""
    streams = context.need_streams()
    kept = load_kept(context, expand_names(context, names) if names else None, to_change=True)
    before = format_tables(kept.to_tables(), HEADING)
    text = streams.edit_text(before, SUFFIX)
    while text != before:
        try:
            wanted = read_wanted(text, kept, context)
            if wanted and wanted.removed and len(wanted.removed) == len(kept.specs) and not wanted.specs:
                _confirm_all(streams, len(kept.specs))
            return _carry_out(context, wanted, kept, json)
        except CronoqError as error:
            print_error(context, error)
            context.err.flush()
            if not streams.ask_yes("edit it again?"):
                raise InvalidError(
                    "nothing was changed", hint=f"the text is kept in {streams.keep_copy(_to_bytes(text), 'schedules')}"
                ) from error
            text = streams.edit_text(text, SUFFIX)
    return _say_unchanged(context, json)


def _say_unchanged(context: Context, json: bool) -> int:
    if json:
        print_json(context, {"recurring": []})
    else:
        print_line(context, "nothing changed")
    return 0


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _confirm_all(streams: Streams, count: int) -> None:
    if not streams.ask_yes(f"the text is empty: remove all {count} schedules?"):
        raise InvalidError("the text has no schedule any more", hint="cronoq recurring rm --all removes them")


def read_wanted(text: str, kept: Kept, context: Context, beside: Collection[str] = ()) -> Wanted:
    """What the edited text asks for; tables `beside` those of schedules are read by others.

    Raises InvalidError naming the schedule and the field.
    """
    heading = {f"# {line}" for line in HEADING.split("\n")}
    # Blank lines in its place: what is wrong is told with its line in the editor.
    found = parse_tables("\n".join("" if line in heading else line for line in text.split("\n")), beside)
    wanted = Wanted(removed=[name for name in kept.specs if name not in found.tables])
    for name, table in found.tables.items():
        spec = read_schedule(name, table, kept.environments, context)
        spec.comment = found.comments.get(name, "")
        if spec != kept.specs.get(name):
            wanted.specs.append(spec)
        was_paused = name in kept.specs and kept.is_paused(name)
        if is_paused(table) != was_paused:
            (wanted.resumed if was_paused else wanted.paused).append(name)
    return wanted


def _carry_out(context: Context, wanted: Wanted, kept: Kept, json: bool) -> int:
    """Make the changes and say which."""
    if not wanted:
        return _say_unchanged(context, json)
    doc = ask(context, wanted.to_request(kept)).doc
    if json:
        print_json(context, {**doc, "paused": wanted.paused, "resumed": wanted.resumed})
        return 0
    for word in ("added", "replaced", "removed"):
        if doc.get(word):
            print_line(context, f"{word} {', '.join(doc[word])}")
    for word, changed in (("paused", wanted.paused), ("resumed", wanted.resumed)):
        if changed:
            print_line(context, f"{word} {', '.join(changed)}")
    return 0
