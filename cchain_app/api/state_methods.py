"""The methods that simulate, and those that look into state by ranges: their part of the table of contents.

None is hot: they take long.
"""

from typing import Final

from cchain_app.api import (
    debug_state,
    eth_transactions,
    fill,
    params,
    params_call,
    params_simulation,
    params_state,
    simulation,
)
from cchain_app.api.rpc import EvmRpc
from jsonrpc.params import Param
from jsonrpc.registry import MethodRegistry

_ADDRESS: Final = Param("address", params.address)
_BLOCK: Final = Param("block", params.block_param)
_HASH: Final = Param("hash", params.hash32)
_START: Final = Param("start", params.data)
_MOST: Final = Param("maxResults", params_state.plain_int)


def add(methods: MethodRegistry, rpc: EvmRpc) -> None:
    """Add the methods to a chain's door."""
    _simulation(methods, rpc)
    _ranges(methods, rpc)
    _refused(methods)


def _simulation(methods: MethodRegistry, rpc: EvmRpc) -> None:
    methods.add(
        "eth_simulateV1",
        rpc.bind(simulation.simulate),
        params=[
            Param("payload", params_simulation.payload),
            Param("block", params.block_param, params.Tag.LATEST),
        ],
    )
    methods.add(
        "eth_fillTransaction",
        rpc.bind(fill.fill_transaction),
        params=[Param("transaction", params_call.call)],
    )
    methods.add(
        "eth_getTransactionBySenderAndNonce",
        rpc.bind(eth_transactions.get_transaction_by_sender_and_nonce),
        params=[_ADDRESS, Param("nonce", params.uint64)],
    )


def _ranges(methods: MethodRegistry, rpc: EvmRpc) -> None:
    index = Param("txIndex", params_state.plain_int)
    methods.add(
        "debug_storageRangeAt",
        rpc.bind(debug_state.storage_range_at),
        params=[_BLOCK, index, _ADDRESS, _START, _MOST],
    )
    methods.add(
        "debug_accountRange",
        rpc.bind(debug_state.account_range),
        params=[
            _BLOCK,
            _START,
            _MOST,
            Param("nocode", params.boolean),
            Param("nostorage", params.boolean),
            Param("incompletes", params.boolean),
        ],
    )
    methods.add(
        "debug_dumpBlock",
        rpc.bind(debug_state.dump_block),
        params=[Param("block", params.block_number)],
    )
    methods.add(
        "debug_getModifiedAccountsByNumber",
        rpc.bind(debug_state.modified_accounts_by_number),
        params=[
            Param("start", params_state.plain_uint64),
            Param("end", params_state.plain_uint64, None),
        ],
    )
    methods.add(
        "debug_getModifiedAccountsByHash",
        rpc.bind(debug_state.modified_accounts_by_hash),
        params=[_HASH, Param("end", params.hash32, None)],
    )
    methods.add(
        "debug_intermediateRoots",
        rpc.bind(debug_state.intermediate_roots),
        params=[_HASH, Param("options", params.anything, None)],
    )


def _refused(methods: MethodRegistry) -> None:
    key = [Param("key", params.anything)]
    methods.add("debug_preimage", debug_state.preimage, params=[_HASH])
    methods.add("debug_getBadBlocks", debug_state.get_bad_blocks)
    methods.add("debug_dbGet", debug_state.db_get, params=key)
    methods.add(
        "debug_setHead", debug_state.set_head, params=[Param("number", params.anything, None)]
    )
