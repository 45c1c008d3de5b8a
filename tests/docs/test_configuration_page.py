"""The page of the configuration is true: its example is read, says every key there is, and shows the defaults."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cronoq_cli.config.hooks import HookSettings
from cronoq_cli.config.live import POOL_KEYS
from cronoq_cli.config.loading import parse_settings
from cronoq_cli.config.pools import AutoscaleSettings, GroupSettings, LimitSettings, PoolSettings
from cronoq_cli.config.resources import GatherSettings, ResourceSettings
from cronoq_cli.config.settings import DaemonSettings, LogSettings, PrioritySettings, RetentionSettings, Settings
from cronoq_cli.config.values import Table

PAGE = (Path(__file__).parent.parent.parent / "docs" / "configuration.md").read_text(encoding="utf-8")
EXAMPLE = PAGE.split("```toml\n")[1].split("```")[0]
DOCUMENT: dict[str, Any] = tomllib.loads(EXAMPLE)
BATCH = DOCUMENT["pools"]["batch"]

TABLES: list[tuple[type[Table], dict[str, Any]]] = [
    (Settings, DOCUMENT),
    (DaemonSettings, DOCUMENT["daemon"]),
    (PoolSettings, BATCH),
    (AutoscaleSettings, BATCH["autoscale"]),
    (LimitSettings, BATCH["limits"]),
    (GroupSettings, BATCH["groups"][0]),
    (HookSettings, DOCUMENT["hooks"]),
    (ResourceSettings, {**DOCUMENT["resources"]["gpu"], **DOCUMENT["resources"]["api"]}),
    (GatherSettings, DOCUMENT["groups"]["mail"]),
    (RetentionSettings, DOCUMENT["retention"]),
    (LogSettings, DOCUMENT["logs"]),
    (PrioritySettings, DOCUMENT["priorities"]),
]


@pytest.mark.parametrize(("kind", "table"), TABLES, ids=lambda value: getattr(value, "__name__", ""))
def test_the_page_has_every_key_of_a_table(kind: type[Table], table: dict[str, Any]) -> None:
    assert set(table) == {field.encode_name for field in msgspec.structs.fields(kind)}


def list_defaults(header: str) -> set[str]:
    """The keys below a header whose line does not call them an example."""
    section = f"\n{EXAMPLE}".split(f"\n[{header}]")[1].split("\n", 1)[1].split("\n[")[0]
    return {line.split(" = ")[0] for line in section.splitlines() if " = " in line and "example" not in line}


SETTINGS = parse_settings(EXAMPLE.encode(), "page")


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        ("daemon", SETTINGS.daemon),
        ("pools.batch", msgspec.structs.replace(SETTINGS.pools["batch"], workers=1)),
        ("pools.batch.autoscale", SETTINGS.pools["batch"].autoscale),
        ("retention", SETTINGS.retention),
        ("priorities", SETTINGS.priorities),
    ],
)
def test_what_is_not_called_an_example_is_the_default(header: str, shown: Table) -> None:
    usual, keys = type(shown)(), list_defaults(header)
    assert keys
    for field in msgspec.structs.fields(type(shown)):
        default = getattr(usual, field.name)
        if field.encode_name in keys - {"workers"} and default is not None:  # None: what the engine does without it
            assert getattr(shown, field.name) == default, field.encode_name


def test_the_page_names_what_commands_can_change() -> None:
    sentence = PAGE.split("`pool set` knows ")[1].split(".")[0]
    assert set(re.findall(r"[a-z_]+", sentence)) - {"and"} == set(POOL_KEYS)
