"""Words that people bring along from other queues and timers, and what is meant by them here.

Only hints: what is an alias of a command stands with the command.
"""

from __future__ import annotations

from collections.abc import Mapping

_LISTING = "cronoq ls"
_SUBMIT = "cronoq submit -- COMMAND"
_OUTPUT = "cronoq logs -f TASK"
_POOL = "cronoq pool"
_SCHEDULES = "cronoq recurring ls"
_FORGET = "cronoq rm TASK forgets one, cronoq prune old ones, cronoq cancel TASK ends it"
_CLEAN = "cronoq prune --older-than DUR, cronoq rm TASK"

FAMILIAR: Mapping[str, str] = {
    **dict.fromkeys(("squeue", "qstat", "queue", "jobs", "ps", "atq"), _LISTING),
    **dict.fromkeys(("sinfo", "group", "groups", "pools", "workers"), _POOL),
    **dict.fromkeys(("sacct", "finished"), "cronoq ls --finished, cronoq stats"),
    **dict.fromkeys(("sbatch", "qsub", "srun", "enqueue", "push"), _SUBMIT),
    **dict.fromkeys(("scancel", "qdel", "terminate", "abort"), "cronoq cancel TASK"),
    **dict.fromkeys(("tail", "attach", "output", "cat"), _OUTPUT),
    **dict.fromkeys(("parallel", "slots", "scale"), "cronoq pool scale default N"),
    **dict.fromkeys(("list-timers", "timers", "timer", "schedule", "schedules"), _SCHEDULES),
    **dict.fromkeys(("remove", "delete", "del", "atrm"), _FORGET),
    **dict.fromkeys(("clean", "clear", "purge"), _CLEAN),
    **dict.fromkeys(("stash", "suspend", "freeze"), "cronoq hold TASK"),
    **dict.fromkeys(("unhold", "unstash", "unsuspend"), "cronoq release TASK"),
    **dict.fromkeys(("switch", "reorder"), "cronoq move TASK --before TASK"),
    **dict.fromkeys(("info", "describe", "inspect"), "cronoq show TASK"),
    **dict.fromkeys(("why", "reason"), "cronoq explain TASK"),
    "restart": "cronoq retry TASK, cronoq rerun TASK; the daemon: cronoq daemon restart",
    "requeue": "cronoq retry TASK keeps the id, cronoq rerun TASK gives a new one",
    "pause": "cronoq pool pause POOL, cronoq hold TASK, cronoq recurring pause NAME",
    "resume": "cronoq pool resume POOL, cronoq release TASK, cronoq recurring resume NAME",
    "start": "cronoq start-now TASK; the daemon: cronoq daemon start",
    "stop": "cronoq cancel TASK; the daemon: cronoq daemon stop",
    "urgent": "cronoq move TASK --first, cronoq priority TASK critical",
    "reset": "cronoq cancel --all, cronoq prune; a pool: cronoq pool reset",
    "reload": "cronoq daemon reload",
    "crontab": "cronoq recurring edit, cronoq recurring import --crontab",
    "at": "cronoq submit --at TIME -- COMMAND",
    "history": "cronoq ls --finished, cronoq events, cronoq recurring history NAME",
    "version": "cronoq --version",
    "help": "cronoq --help, cronoq COMMAND --help",
    "man": "man cronoq",
    "dashboard": "cronoq top",
}
"""The word, and the commands that do that here."""
