"""Random tests give the same examples in every run; `make soak` looks at more of them."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large)

settings.register_profile(
    "checks", deadline=None, derandomize=True, database=None, max_examples=25,
    suppress_health_check=_QUIET,
)  # fmt: skip
settings.register_profile(
    "soak", deadline=None, database=None, max_examples=500, suppress_health_check=_QUIET
)
settings.load_profile(os.environ.get("SYMFONIC_HYPOTHESIS", "checks"))
