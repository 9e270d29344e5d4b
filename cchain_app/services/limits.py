"""The pool's limits, from the settings."""

from functools import cache

from django.conf import settings

from cchain_app import runtime
from cchain_app.pool.limits import PoolLimits

WEI = 10**18
"""Wei of one coin."""


@cache
def pool_limits() -> PoolLimits:
    """Return the limits that the `NODE_POOL_…` settings and the fee cap give."""
    node = settings.NODE
    return PoolLimits(
        executable_slots=node.pool_slots,
        queued_slots=node.pool_queue,
        account_executable_slots=node.pool_account_slots,
        account_queued=node.pool_account_queue,
        queued_lifetime=node.pool_lifetime,
        minimum_tip=node.pool_min_tip,
        minimum_fee=runtime.config().min_base_fee,
        fee_cap=int(node.rpc_tx_fee_cap * WEI) or None,
        unprotected_allowed=node.pool_unprotected,
    )
