"""Which file declares which verbs, and which of them a line needs: known before the parser is there, and without it."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

VERB_FILES = (
    *("submit", "run", "ls", "show", "explain", "logs", "wait", "events", "stats", "top", "metrics"),
    *("cancel", "hold", "release", "retry", "rerun", "start_now", "move", "priority", "signal", "edit"),
    *("rm", "dead", "prune", "pool", "resource", "daemon", "report", "simulate", "recurring"),
    *("config", "apply", "backup", "doctor", "completion"),
)
"""The files that declare verbs, in the order of the help."""

HIDDEN_FILES = ("candidates",)
"""Those whose verbs are for programs of ours alone."""

COMPLETE = "__complete"
"""The verb by which shells ask for words."""

OTHER_WORDS = MappingProxyType(
    {
        "add": "submit",
        "log": "logs",
        "follow": "logs",
        "status": "ls",
        "list": "ls",
        "kill": "cancel",
        "cron": "recurring",
        "export": "apply",
        "restore": "backup",
        COMPLETE: "candidates",
    }
)
"""The words that are not named as the file which declares them."""

_FILE_OF = {name.replace("_", "-"): name for name in VERB_FILES}


def find_file(argv: Sequence[str]) -> str | None:
    """The file that declares the verb of a line, where it is known at once: the others need not be there then."""
    words = iter(argv)
    for word in words:
        if word in ("--home", "--color"):
            next(words, None)
        elif not word.startswith("-"):
            return OTHER_WORDS.get(word) or _FILE_OF.get(word)
        elif not word.startswith(("--home=", "--color=")):
            return None
    return None
