"""Automatic block production from the pool: when a transaction arrives, or by the clock."""

import logging
from typing import Final

from cchain_app.forking.errors import UpstreamError
from cchain_app.selectors import development, pool
from cchain_app.services import manual_mining
from cchain_app.services.runtime import EvmRuntime
from chaindb import clock

_log: Final = logging.getLogger(__name__)


def produce(runtime: EvmRuntime, *, by_clock: bool = False) -> bool:
    """Make a block if the mining mode allows it; return whether a block was made.

    By the clock the block may be empty, and the interval must be over; on arrival the pool must have transactions. On a fork no block is made while the upstream does not return the state that it needs.
    """
    try:
        with pool.read_ahead(runtime.chain):
            return _produce(runtime, by_clock=by_clock)
    except UpstreamError as error:
        _log.warning("no block is made: %s", error)
        return False


def _produce(runtime: EvmRuntime, *, by_clock: bool) -> bool:
    chain = runtime.chain
    development.refresh_mining_settings(chain)
    # The request for a block may be older than the last change of the mode.
    if by_clock:
        if not (development.mines_by_clock(chain) and manual_mining.interval_is_over(chain)):
            return False
    elif not development.mines_on_arrival(chain) or pool.is_empty(chain):
        return False
    now = clock.cchain_now(chain.db)
    return runtime.consensus.produce(now=now, allow_empty=by_clock) is not None
