"""The methods that simulate blocks or read ranges of state, and their registration.

None of them is hot, because they take long.
"""

from typing import Final

from cchain_app.api.debug import state_ranges
from cchain_app.api.eth import simulation
from cchain_app.api.eth import transactions as eth_transactions
from cchain_app.api.params import accounts as params_accounts
from cchain_app.api.params import call as params_call
from cchain_app.api.params import values as params
from cchain_app.api.rpc import EvmRpc
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry

_ADDRESS: Final = Param("address", params.address)
_BLOCK: Final = Param("block", params.block_param)
_HASH: Final = Param("hash", params.hash32)
_START: Final = Param("start", params.data)
_MOST: Final = Param("maxResults", params_accounts.plain_int)


def add(methods: MethodRegistry, rpc: EvmRpc) -> None:
    """Add the methods to those of a chain."""
    _simulation(methods, rpc)
    _ranges(methods, rpc)
    _refused(methods)


def _simulation(methods: MethodRegistry, rpc: EvmRpc) -> None:
    methods.add(
        "eth_simulateV1",
        rpc.bind(simulation.simulate),
        params=[
            Param("payload", params_call.payload),
            Param("block", params.block_param, params.Tag.LATEST),
        ],
    )
    methods.add(
        "eth_fillTransaction",
        rpc.bind(eth_transactions.fill_transaction),
        params=[Param("transaction", params_accounts.call_with_blobs)],
    )
    methods.add(
        "eth_getTransactionBySenderAndNonce",
        rpc.bind(eth_transactions.get_transaction_by_sender_and_nonce),
        params=[_ADDRESS, Param("nonce", params.uint64)],
    )


def _ranges(methods: MethodRegistry, rpc: EvmRpc) -> None:
    index = Param("txIndex", params_accounts.plain_int)
    methods.add(
        "debug_storageRangeAt",
        rpc.bind(state_ranges.storage_range_at),
        params=[_BLOCK, index, _ADDRESS, _START, _MOST],
    )
    methods.add(
        "debug_accountRange",
        rpc.bind(state_ranges.account_range),
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
        rpc.bind(state_ranges.dump_block),
        params=[Param("block", params.block_number)],
    )
    methods.add(
        "debug_getModifiedAccountsByNumber",
        rpc.bind(state_ranges.modified_accounts_by_number),
        params=[
            Param("start", params_accounts.plain_uint64),
            Param("end", params_accounts.plain_uint64, None),
        ],
    )
    methods.add(
        "debug_getModifiedAccountsByHash",
        rpc.bind(state_ranges.modified_accounts_by_hash),
        params=[_HASH, Param("end", params.hash32, None)],
    )
    methods.add(
        "debug_codeByHash",
        rpc.bind(state_ranges.code_by_hash),
        params=[_HASH, Param("block", params.block_param, None)],
    )
    methods.add(
        "debug_intermediateRoots",
        rpc.bind(state_ranges.intermediate_roots),
        params=[_HASH, Param("options", params.anything, None)],
    )


def _refused(methods: MethodRegistry) -> None:
    key = [Param("key", params.anything)]
    methods.add("debug_preimage", state_ranges.preimage, params=[_HASH])
    methods.add("debug_getBadBlocks", state_ranges.get_bad_blocks)
    methods.add("eth_getBadBlocks", state_ranges.get_bad_blocks)
    methods.add("debug_dbGet", state_ranges.db_get, params=key)
    methods.add(
        "debug_setHead", state_ranges.set_head, params=[Param("number", params.anything, None)]
    )
