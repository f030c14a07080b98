"""The suite that every store has to pass.

A store's own tests subclass :class:`StoreContract` and say how a store is opened; pytest then runs
every promise below against it::

    class TestMyStore(StoreContract):
        def open_store(self) -> MemoryStore:
            return MyStore(...)

It needs pytest, which is why nothing else of this package imports it.
"""

from __future__ import annotations

from symfonic.capabilities.memory.testing.contract.erasure import ErasureContract
from symfonic.capabilities.memory.testing.contract.expiry import ExpiryContract
from symfonic.capabilities.memory.testing.contract.ingest import IngestContract
from symfonic.capabilities.memory.testing.contract.leases import LeaseContract
from symfonic.capabilities.memory.testing.contract.lookups import LookupContract
from symfonic.capabilities.memory.testing.contract.nights import NightsContract
from symfonic.capabilities.memory.testing.contract.pending import PendingContract
from symfonic.capabilities.memory.testing.contract.plans import PlanContract
from symfonic.capabilities.memory.testing.contract.restoring import RestoreContract
from symfonic.capabilities.memory.testing.contract.runs import RunContract
from symfonic.capabilities.memory.testing.contract.scopes import ScopeContract
from symfonic.capabilities.memory.testing.contract.transfer import TransferContract
from symfonic.capabilities.memory.testing.contract.upkeep import UpkeepContract
from symfonic.capabilities.memory.testing.contract.vectors import VectorContract
from symfonic.capabilities.memory.testing.contract.windows import WindowContract
from symfonic.capabilities.memory.testing.contract.writes import WriteContract


class StoreContract(
    IngestContract,
    PendingContract,
    ScopeContract,
    RunContract,
    PlanContract,
    WriteContract,
    LeaseContract,
    LookupContract,
    TransferContract,
    RestoreContract,
    WindowContract,
    NightsContract,
    ErasureContract,
    ExpiryContract,
    UpkeepContract,
    VectorContract,
):
    """What a ``MemoryStore`` does, whatever it is made of. Override ``open_store``.

    Where another process can reach the store through ``open_store`` of this package, override
    ``shared_url`` as well: a lease must outlive a process that died holding it. Where a snapshot
    can stay open beside a write, let ``reads_beside_writes`` say so.
    """
