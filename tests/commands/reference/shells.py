"""Real shells with our completion: each completes a line as if a person had typed it and pressed the tab key."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

PATIENCE_S = 30.0
SHELLS = [shell for shell in ("bash", "zsh", "fish") if shutil.which(shell)]
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x07")
_PROMPT = "PS1='>> '; "
_BASH = """bind 'set show-all-if-ambiguous on' 'set completion-query-items 0' 'set page-completions off' \
'set enable-bracketed-paste off' 'set bell-style none'; source {script}"""
_ZSH = """unsetopt prompt_cr prompt_sp beep; LISTMAX=1000; autoload -Uz compinit; compinit -u -D; source {script}; \
zstyle ':completion:*' insert-tab false; compadd() {{ local -a hits; \
[[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]] && {{ builtin compadd "$@"; return; }}; \
builtin compadd -A hits "$@"; print -rl -- "$IPREFIX"${{^hits}} >>offered; builtin compadd "$@"; }}"""
_BEGINNINGS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], _PROMPT + _BASH),
    "zsh": (["zsh", "-f", "-i"], _PROMPT + _ZSH),
}


class Shell:
    """One shell that has read a script of completions."""

    def __init__(self, name: str, script: Path, env: dict[str, str], cwd: Path) -> None:
        self.name, self.script, self.cwd = name, script, cwd
        self.env = {"TERM": "vt100", "LANG": "C.UTF-8", "HISTFILE": "", **env}
        self._terminal = -1
        self._count = 0
        if name != "fish":
            self._begin(*_BEGINNINGS[name])

    def _begin(self, command: list[str], first: str) -> None:
        self._terminal, inner = pty.openpty()
        subprocess.run(["stty", "cols", "200", "rows", "500"], stdin=inner, check=True)
        self._process = subprocess.Popen(
            command, stdin=inner, stdout=inner, stderr=inner, env=self.env, cwd=self.cwd, start_new_session=True
        )
        os.close(inner)
        self._say(first.format(script=self.script) + "\n")

    def close(self) -> None:
        """End it."""
        if self._terminal >= 0:
            self._process.kill()
            self._process.wait()
            os.close(self._terminal)

    def complete(self, line: str) -> set[str]:
        """The words that are offered for the end of the line; or, where there is one, the word it became."""
        if self.name == "fish":
            quoted = line.replace("\\", "\\\\").replace("'", "\\'")
            words = ["fish", "--no-config", "-c", f"source {self.script}; complete -C '{quoted}'"]
            done = subprocess.run(
                words, env=self.env, cwd=self.cwd, capture_output=True, text=True, timeout=PATIENCE_S, check=True
            )
            assert done.stderr == ""
            return {found.partition("\t")[0].removesuffix("=") for found in done.stdout.splitlines()}
        offered = self.cwd / "offered"
        offered.unlink(missing_ok=True)
        said = self._say(f"{line}\t\x15")
        if self.name == "zsh":
            return {word.removesuffix("=") for word in offered.read_text().split()} if offered.exists() else set()
        typed, *listed = said.split("\n")
        if not "".join(listed).strip():  # one word, which now stands there
            return {(line.rpartition(" ")[2] + typed.rpartition(line)[2].strip()).removesuffix("=")}
        return {word.removesuffix("=") for word in " ".join(listed[:-1]).split()}

    def _say(self, text: str) -> str:
        """What appears until the shell has worked off what was typed."""
        self._count += 1
        os.write(self._terminal, f"{text}echo end$(({self._count}+1000))\n".encode())
        mark = f"end{self._count + 1000}"
        said = ""
        deadline = time.monotonic() + PATIENCE_S
        while not re.search(rf"{mark}\n+>> *$", said):  # before its prompt the terminal would edit the line itself
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{self.name} does not answer; last: {said[-2000:]!r}"
            said += (
                _ESCAPES.sub("", os.read(self._terminal, 65536).decode("utf-8", "replace"))
                .replace("\r", "")
                .replace("\0", "")
            )
        return said.split("echo end$")[0]
