"""The names of a task's files below the log directory, and of what else belongs to one attempt. Pure."""

from __future__ import annotations

from cronoq_cli.model.task import TaskSpec

FILES_A_DIRECTORY = 1000


def log_name(task_id: int, attempt: int, *, stderr: bool = False) -> str:
    """The log of an attempt, relative to the log directory; `stderr`: the second file of a split log."""
    ending = "err" if stderr else "log"
    return f"{task_id // FILES_A_DIRECTORY}/{task_id}.{attempt}.{ending}"


def log_places(spec: TaskSpec, logs_dir: str, task_id: int, attempt: int) -> tuple[str, str | None]:
    """The absolute paths of an attempt's standard output, and of its standard error where that is apart.

    The task's own files (`-o`, `-e`) take the place of the log for that stream.
    """
    out = f"{logs_dir}/{log_name(task_id, attempt)}"
    err = f"{logs_dir}/{log_name(task_id, attempt, stderr=True)}" if spec.split else None
    if spec.stdout is not None:
        out = fill_place(spec.stdout, task_id, attempt, spec.name)
    if spec.stderr is not None:
        err = fill_place(spec.stderr, task_id, attempt, spec.name)
    return out, err


def describe_cap(spec: TaskSpec, cap: int, *, holes: bool) -> dict[str, int | str | None]:
    """What `show` says of the cap of a task's logs: bytes kept of an attempt's, or None and why; `cap` 0 is none.

    `holes`: whether the file system of the logs can cut them.
    """
    own = " and ".join(word for word, path in (("-o", spec.stdout), ("-e", spec.stderr)) if path is not None)
    if not cap:
        note = None
    elif not holes:
        cap, note = 0, "not capped: its file system cannot cut files"
    elif spec.stdout is not None:
        cap, note = 0, f"not capped: a file of its own ({own})"
    else:
        note = f"stderr is not capped: a file of its own ({own})" if own else None
    return {"log_cap": cap or None, "log_note": note}


def report_name(task_id: int, attempt: int) -> str:
    """The report file of an attempt (CRONOQ_REPORT), relative to the log directory."""
    return f"{task_id // FILES_A_DIRECTORY}/{task_id}.{attempt}.report"


def fill_place(path: str, task_id: int, attempt: int, name: str) -> str:
    """The path of `-o` or `-e` with `{id}`, `{attempt}` and `{name}` filled in; a name never leaves its directory."""
    safe = name.replace("/", "_").replace("\0", "_")
    return path.replace("{id}", str(task_id)).replace("{attempt}", str(attempt)).replace("{name}", safe)


def format_token(store_id: str, task_id: int, attempt: int) -> str:
    """The token by which the runner knows an attempt: ours, never a pid."""
    return f"{store_id}:{task_id}:{attempt}"


def parse_token(token: str) -> tuple[str, int, int] | None:
    """Store, task and attempt of a token, or None when it is none."""
    parts = token.split(":")
    if len(parts) != 3:
        return None
    store_id, task, attempt = parts
    return (store_id, int(task), int(attempt)) if task.isdecimal() and attempt.isdecimal() else None
