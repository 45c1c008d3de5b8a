"""The resources that all pools share: documents, and changes by command."""

from __future__ import annotations

from typing import Any

from cronoq_cli.config.live import change_resource, override_resource
from cronoq_cli.config.resources import ResourceSettings
from cronoq_cli.daemon.desk import Desk
from cronoq_cli.engine.live import LiveTask
from cronoq_cli.engine.messages import ResourceChanged
from cronoq_cli.engine.resources import Bucket, Semaphore
from cronoq_cli.errors import InvalidError
from cronoq_cli.model.snapshot import describe_resource
from cronoq_cli.model.words import hint_for
from cronoq_cli.wire.requests import Reply, Resources, SetResource


def show_resources(desk: Desk, request: Resources) -> Reply:
    """The documents of all resources, or of one."""
    if request.name is None:
        return Reply(doc={"resources": [_describe(desk, name) for name in desk.settings.resources]})
    _get(desk, request.name)
    return Reply(doc={"resource": _describe(desk, request.name)})


def _get(desk: Desk, name: str) -> ResourceSettings:
    found = desk.settings.resources.get(name)
    if found is None:
        hint = hint_for(name, list(desk.settings.resources)) if desk.settings.resources else "none is configured"
        raise InvalidError(f"no resource is named {name!r}", hint=hint, code="unknown-resource")
    return found


def _describe(desk: Desk, name: str) -> dict[str, Any]:
    state = desk.scheduler.engine.state
    known = state.resources.get(name)
    facts: dict[str, Any] = {"changed": known.capacity != known.configured}
    if isinstance(known, Semaphore):
        facts |= {"permits": known.permits, "free": max(0, known.free)}
    elif isinstance(known, Bucket):
        facts |= {"rate_s": known.rate, "burst": known.burst, "free": known.level(desk.now().awake)}
    running = [task for pool in state.pools.values() for task in pool.running.values()]
    facts["held_by"] = [task.id for task in running if task.units is not None and name in task.units]
    facts["waiting"] = len(state.tasks.list_ids(lambda task: task.is_waiting and _wants(task, name)))
    return describe_resource(name, **facts)


def _wants(task: LiveTask, name: str) -> bool:
    return task.demand is not None and name in task.demand.names


def set_resource(desk: Desk, request: SetResource) -> Reply:
    """Other permits, or another rate and burst; kept over restarts until the configuration is read anew."""
    desk.scheduler.check_writable()
    settings = _get(desk, request.name)
    stored = desk.scheduler.store.load_resources().get(request.name, {})
    given = {"permits": request.permits, "rate_s": request.rate_s, "burst": request.burst}
    changed = change_resource(request.name, override_resource(settings, stored), **given)  # type: ignore[arg-type]
    rate = changed.rate_s
    desk.scheduler.apply(ResourceChanged(request.name, changed.permits, rate, changed.capacity if rate else None))
    new = {**stored, **{key: value for key, value in given.items() if value is not None}}
    desk.scheduler.add_rows(resources={request.name: new})
    desk.scheduler.must_commit()
    return Reply(doc={"resource": _describe(desk, request.name)})
