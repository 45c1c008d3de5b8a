"""The layers hold: the contracts of pyproject.toml, and what import-linter cannot see in the entry file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_import_points_down_the_layers() -> None:
    outcome = run_python(LINT)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_the_runner_loads_only_the_standard_library_and_our_own() -> None:
    code = "import sys, pkgutil, importlib, cronoq_cli.runner as room\n"
    code += "for found in pkgutil.iter_modules(room.__path__, 'cronoq_cli.runner.'):\n"
    code += "    if not found.name.endswith('__main__'): importlib.import_module(found.name)\n"
    code += "tops = {name.split('.')[0] for name in sys.modules}\n"
    code += "print(*sorted(tops & {'msgspec', 'typer', 'rich', 'click', 'platformdirs', 'sqlite3', 'psutil'}))"
    outcome = run_python(code)
    assert (outcome.returncode, outcome.stdout.split(), outcome.stderr) == (0, [], "")
