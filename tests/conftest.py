"""Settings that hold for all tests: property tests have no deadline, since a loaded machine is no fault."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("cronoq", deadline=None)
settings.load_profile("cronoq")
