"""The completions in real shells: each line is typed, the tab key pressed, and what is offered looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from cronoq_cli.commands.reference.scripts import SCRIPTS
from cronoq_cli.commands.reference.tree import read_tree

from .shells import SHELLS, Shell

TREE = read_tree()
PROGRAM = r"""#!/bin/sh
# Answers as a daemon would, and notes how it was called.
echo "$@" >>called
while [ "$1" = --home ]; do shift 2; done
case "$2" in
*task*|*live*|*ended*) printf '12\tsucceeded make\n123\trunning x\nbuild\t\nsite:deploy\t\nsite:drop\t\n' ;;
*pool*) printf 'default\t2 workers\nbatch\t3 workers\n' ;;
*resource*) printf 'gpu\t2 in all\n' ;;
*name*) printf 'nightly\t\n' ;;
esac | grep "^$3"
"""


@pytest.fixture(scope="module")
def make_shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Shell]]:
    made: dict[str, Shell] = {}

    def make(name: str) -> Shell:
        if name not in made:
            home = tmp_path_factory.mktemp(name)
            (home / "bin").mkdir()
            (home / "bin" / "cronoq").write_text(PROGRAM)
            (home / "bin" / "cronoq").chmod(0o755)
            (home / "notes.txt").touch()
            (home / SCRIPTS[name].file).write_text(SCRIPTS[name].format(TREE))
            env = {"PATH": f"{home / 'bin'}:/usr/bin:/bin", "HOME": str(home)}
            made[name] = Shell(name, home / SCRIPTS[name].file, env, home)
        return made[name]

    yield make
    for shell in made.values():
        shell.close()


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize(
    ("line", "offered", "not_offered"),
    [
        ("cronoq sub", {"submit"}, set()),
        ("cronoq pool ", {"ls", "show", "pause", "resume", "scale", "set", "reset"}, {"submit"}),
        ("cronoq pool sc", {"scale"}, set()),
        ("cronoq submit --pri", {"--priority"}, set()),
        ("cronoq submit -P hi", {"high"}, set()),
        ("cronoq --color al", {"always"}, set()),
        ("cronoq submit --on-lost ", {"count", "requeue", "hold"}, {"12"}),
        ("cronoq submit --pool ", {"default", "batch"}, {"12"}),
        ("cronoq submit --pool=b", {"--pool=batch"}, set()),
        ("cronoq submit --use ", {"gpu"}, set()),
        ("cronoq submit --after 12,b", {"12,build"}, set()),
        ("cronoq submit --batch no", {"notes.txt"}, set()),
        ("cronoq submit gre", {"grep"}, set()),
        ("cronoq submit -n x -- gre", {"grep"}, set()),
        ("cronoq show ", {"12", "123", "build"}, {"show"}),
        ("cronoq kill bui", {"build"}, set()),
        ("cronoq ls --name nig", {"nightly"}, set()),
        ("cronoq pool set max_p", {"max_pending"}, set()),
        ("cronoq pool pause de", {"default"}, set()),
        ("cronoq --home /x show 123", {"123"}, set()),
        ("cronoq restore note", {"notes.txt"}, set()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_line_is_completed(
    make_shell: Callable[[str], Shell], name: str, line: str, offered: set[str], not_offered: set[str]
) -> None:
    found = make_shell(name).complete(line)
    assert offered <= found
    typed = set(line.split())
    assert not (not_offered - typed) & found


@pytest.mark.parametrize("name", SHELLS)
def test_a_key_with_a_colon_is_completed(make_shell: Callable[[str], Shell], name: str) -> None:
    found = make_shell(name).complete("cronoq show site:d")
    assert found >= ({"deploy", "drop"} if name == "bash" else {"site:deploy", "site:drop"})


@pytest.mark.parametrize("name", SHELLS)
def test_the_home_that_was_typed_is_asked(make_shell: Callable[[str], Shell], name: str) -> None:
    shell = make_shell(name)
    (shell.cwd / "called").unlink(missing_ok=True)
    shell.complete("cronoq --home /srv/q cancel bui")
    assert set((shell.cwd / "called").read_text().splitlines()) == {"--home /srv/q __complete live bui"}
