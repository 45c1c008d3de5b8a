"""The fixtures of the acceptance tests: faults are tried on real daemons too."""

from __future__ import annotations

from tests.acceptance.conftest import cronoq, make_cronoq

__all__ = ["cronoq", "make_cronoq"]
