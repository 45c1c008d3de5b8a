"""The daemon itself: status, stop and drain, reload."""

from __future__ import annotations

from cronoq_cli.daemon.parked import NotYet
from cronoq_cli.daemon.service import STOPPED, Service
from cronoq_cli.wire.requests import DaemonStatus, DaemonStop, Reload, Reply


def status(daemon: Service, request: DaemonStatus) -> Reply:
    """What the daemon is, and what its last start recovered."""
    return Reply(doc={"daemon": daemon.describe()})


def stop(daemon: Service, request: DaemonStop) -> Reply:
    """Stop: answered when the tasks are dealt with and nothing more will be written."""
    daemon.begin_stop(request.mode, request.timeout_s, hand_over=request.hand_over, restart=request.restart)
    if not daemon.is_over:
        raise NotYet([STOPPED])
    return Reply(doc={"daemon": daemon.describe()})


def reload(daemon: Service, request: Reload) -> Reply:
    """Read the configuration anew, whole or not at all; answered when it is in force, with the runner too."""
    daemon.desk.scheduler.begin_deciding()
    daemon.reload()
    return Reply(doc={"daemon": daemon.describe()})
