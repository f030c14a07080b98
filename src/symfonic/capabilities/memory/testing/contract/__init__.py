"""The parts of the store contract, one file for each promise a store makes."""

from __future__ import annotations

import pytest

PARTS = (
    "base", "erasure", "expiry", "ingest", "leases", "lookups", "pending", "plans", "runs",
    "scopes", "transfer", "upkeep", "vectors", "windows", "writes",
)  # fmt: skip

pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in PARTS))
