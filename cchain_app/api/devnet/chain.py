"""Snapshots, rewinds, state files, the pool, and the node's self-description on a development chain (devnet.md 5, 6, 8, 9)."""

from itertools import pairwise
from typing import Any

from cchain_app.api import wire
from cchain_app.api.devnet import sending
from cchain_app.api.eth import forked, node
from cchain_app.api.eth.fees import next_base_fee, suggested_tip
from cchain_app.api.params.accounts import TransactionRequest, transaction
from cchain_app.api.params.development import amount64
from cchain_app.api.rpc import EvmRpc
from cchain_app.development.dump import packed
from cchain_app.development.errors import AlreadyMined, DevelopmentReason, InvalidDevelopmentRequest
from cchain_app.forking.origin import ForkPoint, read_wanted
from cchain_app.selectors import blocks, pool
from cchain_app.services import forking, manual_mining, removal, snapshots, transactions
from cchain_app.store import development as development_rows
from chaindb.locks import BUSY_SECONDS
from jsonrpc.errors import InvalidParam, JsonRpcError, invalid_params
from primitives.evm import Address, Hash
from primitives.hexadecimal import HexError, decode_data, encode_data, encode_quantity
from primitives.product import VERSION

_MAX_DEPTH = 10_000

ReorgTransaction = bytes | TransactionRequest
"""A signed envelope, or the fields of a transaction for the node to build."""


def evm_snapshot(rpc: EvmRpc) -> str:
    """evm_snapshot: take a snapshot, and return its number.

    Raises:
        DevelopmentError: Other nodes follow the chain.
    """
    return encode_quantity(snapshots.take_snapshot(rpc.chain))


def evm_revert(rpc: EvmRpc, number: int, options: dict[str, Any]) -> bool:
    """evm_revert: return to a snapshot, and delete it and all later ones; false if there is no such snapshot.

    Unspecified: `{"keep": true}` as a second parameter keeps the snapshot itself. Raises as `evm_snapshot`.
    """
    return snapshots.revert(rpc.chain, number, keep=options.get("keep") is True)


def reset(rpc: EvmRpc, options: dict[str, Any]) -> None:
    """anvil_reset, hardhat_reset: reset the chain to its first block.

    On a fork, `{"forking": {"jsonRpcUrl", "blockNumber"}}` names the chain and block to fork from next. The default
    for the URL is the current upstream chain, the default for the number is that chain's last block.

    Unspecified: a chain with its own genesis cannot become a fork.

    Raises:
        ForkRefused: The options name a fork, but this chain has its own genesis.
        MalformedForkSetting: The value is not a URL.
        UpstreamError: The remote node does not return that block.
        DevelopmentError: Other nodes follow the chain.
        JsonRpcError: -32602, the options cannot be read.
    """
    forking.reset(rpc.runtime, _requested_fork(options.get("forking")))


def _requested_fork(given: Any) -> ForkPoint | None:
    if given is None:
        return None
    if not isinstance(given, dict):
        raise invalid_params("forking must be an object")
    url, number = given.get("jsonRpcUrl"), given.get("blockNumber")
    try:
        return ForkPoint(
            () if url is None else read_wanted([forked.url(url)]).urls,
            None if number is None else amount64(number),
        )
    except InvalidParam as error:
        raise invalid_params(f"forking: {error.text}") from error


def set_rpc_url(rpc: EvmRpc, url: str) -> None:
    """anvil_setRpcUrl: fetch data that is not stored from another URL, until this process ends.

    Unspecified: on a chain that is not a fork the method does nothing, as in Anvil.

    Raises:
        MalformedForkSetting: The value is not a URL.
    """
    if rpc.chain.fork is not None:
        forking.set_upstream(rpc.chain, url)


def rollback(rpc: EvmRpc, depth: int) -> None:
    """anvil_rollback: drop the last blocks.

    Raises:
        InvalidDevelopmentRequest: The chain does not have that many blocks.
        DevelopmentError: Other nodes follow the chain.
    """
    snapshots.rollback(rpc.chain, depth)


def reorg(rpc: EvmRpc, depth: int, pairs: list[tuple[ReorgTransaction, int]]) -> None:
    """anvil_reorg: replace the last blocks by new ones with other transactions; the replaced transactions are lost.

    Args:
        rpc: The chain's RPC context.
        depth: The number of blocks to replace.
        pairs: Transactions, each with the index of its new block, counted from 0. An unsigned transaction may have
            any sender, as with eth_sendUnsignedTransaction.

    Raises:
        InvalidDevelopmentRequest: The chain does not have that many blocks.
        InvalidDevelopmentRequest: A transaction is for a block beyond the last.
        DevelopmentError: Other nodes follow the chain.
        JsonRpcError: -32602, there are too many blocks.
    """
    chain = rpc.chain
    if depth > _MAX_DEPTH:
        raise invalid_params(f"a reorganisation of more than {_MAX_DEPTH} blocks is too much")
    beyond = [block_index for _, block_index in pairs if block_index >= depth]
    if beyond:
        raise InvalidDevelopmentRequest(
            DevelopmentReason.REORG_BLOCK_TOO_HIGH, block=beyond[0], last=depth - 1
        )
    indexes = sorted({0, depth, *(block_index for _, block_index in pairs)})
    with chain.vm_lock.held(BUSY_SECONDS), rpc.runtime.only_to_pool():
        snapshots.rollback(chain, depth, "Reorg")
        for block_index, following in pairwise(indexes):
            for transaction, block in pairs:
                if block == block_index:
                    _add_to_pool(rpc, transaction)
            manual_mining.mine(rpc.runtime, following - block_index)


def _add_to_pool(rpc: EvmRpc, transaction: ReorgTransaction) -> None:
    """Add a transaction to the pool. Raises the pool's error if it is rejected."""
    if not isinstance(transaction, bytes):
        sending.send_unsigned(rpc, transaction)
        return
    (outcome,) = transactions.submit(rpc.runtime, [transaction])
    if isinstance(outcome, Exception):
        raise outcome


def drop_transaction(rpc: EvmRpc, transaction: Hash) -> str | None:
    """anvil_dropTransaction: remove a transaction from the pool; null if it is not pending."""
    try:
        return (
            encode_data(transaction) if removal.drop_transaction(rpc.chain, transaction) else None
        )
    except AlreadyMined:
        return None


def hardhat_drop_transaction(rpc: EvmRpc, transaction: Hash) -> bool:
    """hardhat_dropTransaction: remove a transaction from the pool, and return whether it was pending.

    Raises:
        AlreadyMined: It is in a block.
    """
    return removal.drop_transaction(rpc.chain, transaction)


def drop_all_transactions(rpc: EvmRpc) -> None:
    """anvil_dropAllTransactions: remove all transactions from the pool."""
    removal.drop_all(rpc.chain)


def remove_pool_transactions(rpc: EvmRpc, sender: Address) -> None:
    """anvil_removePoolTransactions: remove all transactions of a sender from the pool."""
    removal.drop_all(rpc.chain, sender)


def pending_transactions(rpc: EvmRpc) -> list[wire.Json]:
    """eth_pendingTransactions: the pool's executable transactions."""
    chain = rpc.chain
    pending = pool.transactions(chain, pool.pending_hashes(chain))
    return [rpc.pool_transaction(item) for item in pending.values()]


def dump_state(rpc: EvmRpc, _historical: bool) -> str:  # noqa: FBT001  # as it comes over RPC
    """anvil_dumpState: the state as gzipped JSON.

    Unspecified: historical states are not included.
    """
    return encode_data(packed(snapshots.dump_state(rpc.chain)))


def load_state(rpc: EvmRpc, dump: bytes) -> bool:
    """anvil_loadState: set accounts to their values in a state dump.

    Raises:
        InvalidDevelopmentRequest: The data is not a state dump.
        DevelopmentError: Other nodes follow the chain.
    """
    snapshots.load_state(rpc.chain, dump)
    return True


def node_info(rpc: EvmRpc) -> dict[str, Any]:
    """anvil_nodeInfo: head, fork and environment; numbers and quantities are mixed as in Anvil.

    Unspecified: only the scheme and host of the fork's URL are shown, because the rest may contain a key.
    """
    chain = rpc.chain
    head = blocks.head(chain)
    rules = chain.config.fork_at(head.number, head.header.timestamp)
    fork = chain.fork
    base_fee = next_base_fee(rpc)
    return {
        "currentBlockNumber": encode_quantity(head.number),
        "currentBlockTimestamp": head.header.timestamp,
        "currentBlockHash": encode_data(head.hash),
        "hardFork": rules.capitalize(),
        "transactionOrder": chain.settings.order,
        "environment": {
            "baseFee": encode_quantity(base_fee),
            "chainId": chain.config.chain_id,
            "gasLimit": encode_quantity(head.header.gas_limit),
            "gasPrice": encode_quantity(base_fee + suggested_tip(rpc)),
        },
        "forkConfig": {
            "forkUrl": None if fork is None else fork.url,
            "forkBlockNumber": None if fork is None else fork.number,
            "forkRetryBackoff": None
            if fork is None
            else round(chain.settings.fork.retry_delay * 1000),
        },
    }


def metadata(rpc: EvmRpc) -> dict[str, Any]:
    """anvil_metadata: the client, the chain, and the chain's snapshots."""
    chain = rpc.chain
    head, fork = blocks.head(chain), chain.fork
    return {
        "clientVersion": node.client_version(rpc),
        "clientSemver": VERSION,
        "chainId": chain.config.chain_id,
        "instanceId": encode_data(snapshots.instance_id(chain)),
        "latestBlockNumber": head.number,
        "latestBlockHash": encode_data(head.hash),
        "forkedNetwork": None
        if fork is None
        else {
            "chainId": fork.chain_id,
            "forkBlockNumber": fork.number,
            "forkBlockHash": encode_data(fork.hash),
        },
        "snapshots": {
            encode_quantity(number): [height, encode_data(block)]
            for number, height, block in development_rows.snapshots(chain.db)
        },
    }


def hardhat_metadata(rpc: EvmRpc) -> dict[str, Any]:
    """hardhat_metadata: the client and the chain, without snapshots; the fork is omitted if the chain is not a fork."""
    found = metadata(rpc)
    absent = {"snapshots"} if found["forkedNetwork"] else {"snapshots", "forkedNetwork"}
    return {name: found[name] for name in found if name not in absent}


def pairs(value: Any) -> list[tuple[ReorgTransaction, int]]:
    """Read the transactions of a reorganisation: pairs of signed bytes or a transaction object, and a block index."""
    try:
        return [
            (
                transaction(given) if isinstance(given, dict) else decode_data(given),
                amount64(block_index),
            )
            for given, block_index in value
        ]
    except (TypeError, ValueError, HexError) as error:
        raise JsonRpcError(
            -32602,
            "transactions of a reorganisation are pairs of signed bytes or an object, and an index",
        ) from error
