"""What holds for the project as a whole: one version, docstrings, a tidy top level, working targets."""

from __future__ import annotations

import ast
import subprocess
import tomllib
from pathlib import Path

import pytest

import cronoq_cli

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "cronoq_cli").rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_package_and_the_project_have_the_same_version() -> None:
    assert PROJECT["project"]["version"] == cronoq_cli.__version__
    assert f"\n## {cronoq_cli.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_what_lives_in_it(module: Path) -> None:
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    assert docstring, f"{module} has no docstring"
    assert len(docstring.strip().splitlines()) <= 8


def test_every_folder_of_the_package_is_a_package() -> None:
    folders = {module.parent for module in MODULES}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
    assert [str(module) for module in MODULES if module.stem in empty] == []


def test_the_top_level_has_what_a_newcomer_looks_for() -> None:
    expected = [
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Makefile",
        ".ci/run",
        ".gitignore",
    ]
    expected += ["cronoq_cli", "tests", "docs", "completions", "man", "benchmarks"]
    assert [name for name in expected if not (ROOT / name).exists()] == []


def test_make_alone_lists_every_target() -> None:
    listed = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = next(line for line in makefile.splitlines() if line.startswith(".PHONY:")).split()[1:]
    shown = [line.split()[1] for line in listed.stdout.splitlines()]
    assert sorted(shown) == sorted(phony)


def test_the_readme_names_only_targets_that_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {line.split()[1] for line in readme.splitlines() if line.startswith("make ")}
    assert named
    assert [name for name in named if f"\n{name}:" not in makefile] == []


def test_links_of_the_documents_lead_somewhere() -> None:
    missing = []
    for document in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for part in document.read_text(encoding="utf-8").split("](")[1:]:
            target = part.split(")")[0]
            if "://" not in target and not (ROOT / target.split("#")[0]).exists():
                missing.append(target)
    assert missing == []
