"""`cronoq dead`: dead letters, the tasks that failed for good after retries or were lost: see, retry, forget them."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from cronoq_cli.commands.answers import Json, answer_done, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, group, option, verb
from cronoq_cli.commands.ls import USUAL_LIMIT
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.tables import print_tasks
from cronoq_cli.commands.selectors import Selection, find_selector
from cronoq_cli.commands.spec_options import parse_named, parse_number
from cronoq_cli.errors import NotFoundError, UsageError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.wire.requests import ListTasks, Remove, Reply, Retry, Selector

HINT = "name them by id, 3-8, a comma list or a key; or use --pool, --tag, --name, --all"


class DeadSelection(msgspec.Struct):
    """Dead letters by reference, or by what they are; no other task is ever meant."""

    pool: Annotated[list[str] | None, option("--pool", "-p", help="Those of this pool.", metavar="POOL")] = None
    tag: Annotated[
        list[str] | None, option("--tag", "-t", help="Those with this tag: K=V, or K for any value.", metavar="K[=V]")
    ] = None
    name: Annotated[str | None, option("--name", help="Those whose name matches the pattern.", metavar="GLOB")] = None
    all: Annotated[bool, option("--all", "-a", help="All dead letters.")] = False
    tasks: Annotated[list[str] | None, argument("[TASK]...", help="Ids, runs 3-8, comma lists, keys, or last.")] = None

    def find(self) -> Selector:
        """The selector; of all dead letters where nothing was said."""
        found = find_selector(Selection(pool=self.pool, tag=self.tag, name=self.name, all=self.all, tasks=self.tasks))
        found.statuses, found.all = [Status.DEAD_LETTERED.value], False
        return found

    def get(self) -> Selector:
        """As `find`; nobody changes dead letters that were not named. Raises UsageError."""
        found = self.find()
        if not self.all and found == Selector(statuses=found.statuses):
            raise UsageError("no dead letter was named", hint=HINT)
        return found


def declare(app: typer.Typer) -> None:
    """Declare the group and its verbs."""
    dead = group(app, "dead", help="See, retry and forget dead letters.", panel="Change tasks")
    verb(dead, "ls", aliases=("list",), examples=("cronoq dead ls", "cronoq dead ls --pool batch --limit all"))(ls)
    verb(dead, "retry", examples=("cronoq dead retry 7", "cronoq dead retry --all --with-dependents"))(retry)
    verb(dead, "rm", examples=("cronoq dead rm 7", "cronoq dead rm --name 'nightly-*'"))(rm)


def ls(
    context: Context,
    select: DeadSelection,
    limit: Annotated[str | None, option("--limit", "-l", help="How many: a number, or all.", metavar="N|all")] = None,
    json: Json = False,
) -> int | None:
    """List dead letters: tasks that failed after all their retries, were lost, or were put here by cancel --dead."""
    context.json = json
    most = USUAL_LIMIT if limit is None else None if limit == "all" else parse_named("--limit", limit, parse_number)
    selector = select.find()
    try:
        reply = ask(context, ListTasks(select=selector, limit=most))
    except NotFoundError:
        if selector.refs:
            raise
        reply = Reply(doc={"tasks": [], "more": 0})
    if json:
        print_json(context, reply.doc)
    else:
        print_tasks(context, reply.doc)
    return reply.exit


def retry(
    context: Context,
    select: DeadSelection,
    with_dependents: Annotated[
        bool, option("--with-dependents", help="Also those that were skipped because of them.")
    ] = False,
    json: Json = False,
) -> int | None:
    """Run dead letters again under the same ids: their attempts go on counting, as many more as before."""
    request = Retry(select=select.get(), with_dependents=with_dependents)
    return answer_done(context, request, "retried", json=json)


def rm(context: Context, select: DeadSelection, json: Json = False) -> int | None:
    """Forget dead letters with their logs. Refused with exit status 4 while others wait for them."""
    return answer_done(context, Remove(select=select.get()), "removed", json=json)
