"""Automatic block production from the pool: when a transaction arrives, or by the clock."""

import logging
from typing import Final

from cchain_app.forking.errors import UpstreamError
from cchain_app.selectors import development, pool
from cchain_app.services import manual_mining
from cchain_app.services.runtime import EvmRuntime
from chaindb import clock

_log: Final = logging.getLogger(__name__)


def produce(runtime: EvmRuntime, mining: str, *, allow_empty: bool = False) -> bool:
    """Make a block if the mining mode is the given one (`auto` or `interval`); return whether a block was made.

    On a fork no block is made while the upstream does not return the state that it needs.
    """
    try:
        with pool.read_ahead(runtime.chain):
            return _produce(runtime, mining, allow_empty=allow_empty)
    except UpstreamError as error:
        _log.warning("no block is made: %s", error)
        return False


def _produce(runtime: EvmRuntime, mining: str, *, allow_empty: bool) -> bool:
    chain = runtime.chain
    development.refresh_mining_settings(chain)
    # The request for a block may be older than the last change of the mode.
    if development.mining(chain) != mining:
        return False
    if mining == "interval" and not manual_mining.interval_is_over(chain):
        return False
    if not allow_empty and pool.is_empty(chain):
        return False
    now = clock.cchain_now(chain.db)
    return runtime.consensus.produce(now=now, allow_empty=allow_empty) is not None
