"""Notes in the rows of chains of subnets why no block can follow their last one."""

import logging
from collections.abc import Iterable
from typing import Final

from django.db import DatabaseError

from cchain_app.chain import EvmChain
from cchain_app.selectors.obstacles import BlockObstacle, obstacle
from cchain_app.store import subnet_chains as rows
from chaindb import clock
from chaindb.database import Database
from primitives.evm import Hash

_log: Final = logging.getLogger(__name__)


class ChainObstacles:
    """The obstacles of the chains of subnets, as this process last saw them."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[Hash, str]] = {}
        """The head at which each chain was last examined, and its obstacle, by the chain's name."""

    def note(self, db: Database, chains: Iterable[EvmChain]) -> None:
        """Examine the chains of subnets that have a new head or an obstacle; write changed reasons.

        A chain whose rows cannot be read is examined by the next call; its health check has the
        error.

        Args:
            db: The database with the rows of all chains.
            chains: The EVM chains that run.

        Raises:
            DatabaseError: The rows of all chains cannot be read or written.
        """
        examined: dict[str, tuple[Hash, str]] = {}
        for chain in chains:
            head = chain.memory.blocks.head
            if not chain.is_of_subnet or head is None:
                continue
            known = self._seen.get(chain.name)
            if known is not None and known == (head.hash, ""):
                examined[chain.name] = known
                continue
            try:
                found = obstacle(chain, clock.now())
            except DatabaseError as error:
                _log.debug("chain %s cannot be examined: %s", chain.title, error)
                continue
            reason = "" if found is None else found.reason
            examined[chain.name] = head.hash, reason
            if reason != ("" if known is None else known[1]):
                _write(db, chain, found)
        self._seen = examined


def _write(db: Database, chain: EvmChain, found: BlockObstacle | None) -> None:
    reason = "" if found is None else found.reason
    with db.atomic():
        has_changed = rows.note_reason(db, chain.blockchain_id, reason)
    if not has_changed:
        return
    if found is not None:
        _log.error("chain %s makes no blocks: %s", chain.title, reason, exc_info=found.cause)
    else:
        _log.info("chain %s makes blocks again", chain.title)
