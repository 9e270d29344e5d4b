"""Prepare an environment for an engine: the warp messages in the access lists of the transactions to execute. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from cchain_app.evm.engine import BlockEnv, CallMessage
from cchain_app.precompiles import predicates
from cchain_app.precompiles.predicates import AccessList
from cchain_app.txs.transaction import Transaction


def with_predicates(env: BlockEnv, transactions: Sequence[Transaction]) -> BlockEnv:
    """Return the environment with the warp messages of a block's transactions; unchanged if warp is not active."""
    if env.stateful.warp is None:
        return env
    return _with(env, [(transaction.hash, transaction.access_list) for transaction in transactions])


def with_predicates_of_call(env: BlockEnv, message: CallMessage) -> BlockEnv:
    """Return the environment with the warp messages of a call, which count as verified, as in the reference."""
    if env.stateful.warp is None or not predicates.has_predicates(message.access_list):
        return env
    return _with(env, [(b"", message.access_list)])


def _with(env: BlockEnv, access_lists: Sequence[tuple[bytes, AccessList]]) -> BlockEnv:
    warp = env.stateful.warp
    assert warp is not None, "the caller has checked it"
    found = predicates.prepared(warp, access_lists)
    if not found:
        return env
    return replace(env, stateful=replace(env.stateful, warp=replace(warp, predicates=found)))
