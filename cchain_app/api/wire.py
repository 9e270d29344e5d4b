"""The JSON format of blocks, transactions, receipts and logs, as dicts.

The fields of a block depend on the fork of its header. `rendered` encodes the dicts to bytes, and caches
them.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Raw

from cchain_app.blocks.accepted import AcceptedBlock, Withdrawal, make_block
from cchain_app.blocks.assembly import PendingBlock
from cchain_app.blocks.receipt import Receipt, bloom_to_bytes
from cchain_app.rules.coreth.header import CorethHeader
from cchain_app.selectors.logs import FoundLog
from cchain_app.txs.blobs import Sidecar
from cchain_app.txs.transaction import (
    ACCESS_LIST,
    BLOB,
    DYNAMIC_FEE,
    SET_CODE,
    AccessList,
    Authorization,
    Transaction,
    contract_address,
)
from primitives.evm import Address
from primitives.hexadecimal import checksum_address

Json = dict[str, Any]


def hexed(data: bytes) -> str:
    """Return bytes as 0x text."""
    return "0x" + data.hex()


def header(block: AcceptedBlock) -> Json:
    """Return a block's header in the format of newHeads.

    Unspecified: for the pending block hash, nonce and miner are null, as in geth.
    """
    fields = {"hash": hexed(block.hash), **_header_fields(block)}
    if isinstance(block, PendingBlock):
        return fields | dict.fromkeys(("hash", "nonce", "miner"))
    return fields


def block(accepted: AcceptedBlock, transactions: list[Any]) -> Json:
    """Return a block with its transactions, which are hashes, objects, or rendered bytes of either."""
    body: Json = {
        **header(accepted),
        "size": hex(accepted.size),
        "uncles": [hexed(ommer.hash) for ommer in accepted.ommers],
        "transactions": transactions,
    }
    if accepted.header.withdrawals_root is not None:
        body["withdrawals"] = [_withdrawal(withdrawal) for withdrawal in accepted.withdrawals]
    if accepted.header.has_version:
        body["blockExtraData"] = hexed(accepted.payload or b"")
        body["totalDifficulty"] = hex(accepted.number)
    return body


def uncle(accepted: AcceptedBlock, index: int) -> Json:
    """Return an uncle of a block as a block of which only the header is known."""
    bare = make_block(accepted.ommers[index], (), ())
    return {**header(bare), "size": hex(bare.size), "uncles": []}


def _withdrawal(withdrawal: Withdrawal) -> Json:
    return {
        "index": hex(withdrawal.index),
        "validatorIndex": hex(withdrawal.validator_index),
        "address": hexed(withdrawal.address),
        "amount": hex(withdrawal.amount),
    }


def _header_fields(block: AcceptedBlock) -> Json:
    values = block.header
    fields = {
        "parentHash": hexed(values.parent_hash),
        "sha3Uncles": hexed(values.ommers_hash),
        "miner": hexed(values.coinbase),
        "stateRoot": hexed(values.state_root),
        "transactionsRoot": hexed(values.transactions_root),
        "receiptsRoot": hexed(values.receipts_root),
        "logsBloom": hexed(values.logs_bloom),
        "difficulty": hex(values.difficulty),
        "number": hex(values.number),
        "gasLimit": hex(values.gas_limit),
        "gasUsed": hex(values.gas_used),
        "timestamp": hex(values.timestamp),
        "extraData": hexed(values.extra_data),
        "mixHash": hexed(values.mix_hash),
        "nonce": hexed(values.nonce),
    }
    fields.update(_fork_fields(block))
    return fields


def _fork_fields(block: AcceptedBlock) -> Iterator[tuple[str, str]]:
    """Yield the fields that forks since London added, if the block's header has them."""
    values = block.header
    if values.base_fee is not None:
        yield "baseFeePerGas", hex(values.base_fee)
    if values.withdrawals_root is not None:
        yield "withdrawalsRoot", hexed(values.withdrawals_root)
    if values.blob_gas_used is not None:
        yield "blobGasUsed", hex(values.blob_gas_used)
    if values.excess_blob_gas is not None:
        yield "excessBlobGas", hex(values.excess_blob_gas)
    if values.parent_beacon_block_root is not None:
        yield "parentBeaconBlockRoot", hexed(values.parent_beacon_block_root)
    if values.requests_hash is not None:
        yield "requestsHash", hexed(values.requests_hash)
    for name, value in values.own_fields.items():
        yield name, hex(value)
    if isinstance(values, CorethHeader):
        yield from _coreth_fields(block, values)


def _coreth_fields(block: AcceptedBlock, values: CorethHeader) -> Iterator[tuple[str, str]]:
    yield "extDataHash", hexed(values.ext_data_hash)
    for name, value in (
        ("extDataGasUsed", values.ext_data_gas_used),
        ("blockGasCost", values.block_gas_cost),
        ("timestampMilliseconds", values.time_milliseconds),
        ("minDelayExcess", values.min_delay_excess),
    ):
        if value is not None:
            yield name, hex(value)


def mined_transaction(accepted: AcceptedBlock, index: int) -> Json:
    """Return a transaction of a block."""
    transaction = accepted.transactions[index]
    values = accepted.header
    time = {} if values.has_version else {"blockTimestamp": hex(values.timestamp)}
    return {
        "blockHash": hexed(accepted.hash),
        "blockNumber": hex(values.number),
        **time,
        "transactionIndex": hex(index),
        "gasPrice": hex(transaction.effective_gas_price(values.base_fee or 0)),
        **_transaction_fields(transaction),
    }


def pool_transaction(transaction: Transaction, *, of_coreth: bool = False) -> Json:
    """Return a transaction of the pool, which has no block, and its fee cap as its price.

    Like one of a block, it has no member for the block's time on coreth.
    """
    time = {} if of_coreth else {"blockTimestamp": None}
    return {
        "blockHash": None,
        "blockNumber": None,
        **time,
        "transactionIndex": None,
        "gasPrice": hex(transaction.max_fee_per_gas),
        **_transaction_fields(transaction),
    }


def unsigned_transaction(transaction: Transaction) -> Json:
    """Return a transaction without a signature: the signature is zeros, and its price is its fee cap."""
    return {"gasPrice": hex(transaction.max_fee_per_gas), **_transaction_fields(transaction)}


def sidecar(values: Sidecar) -> Json:
    """Return the members that a transaction with its blobs has in addition."""
    return {
        "blobs": [hexed(blob) for blob in values.blobs],
        "commitments": [hexed(commitment) for commitment in values.commitments],
        "proofs": [hexed(proof) for proof in values.proofs],
    }


def _transaction_fields(transaction: Transaction) -> Json:
    fields: Json = {
        "type": hex(transaction.type),
        "hash": hexed(transaction.hash),
        "from": hexed(transaction.sender),
        "to": None if transaction.to is None else hexed(transaction.to),
        "nonce": hex(transaction.nonce),
        "gas": hex(transaction.gas),
        "value": hex(transaction.value),
        "input": hexed(transaction.data),
        "v": hex(transaction.v),
        "r": hex(transaction.r),
        "s": hex(transaction.s),
    }
    if transaction.chain_id is not None:
        fields["chainId"] = hex(transaction.chain_id)
    if transaction.type >= ACCESS_LIST:
        fields["yParity"] = hex(transaction.y_parity)
        fields["accessList"] = access_list(transaction.access_list)
    if transaction.type >= DYNAMIC_FEE:
        fields["maxFeePerGas"] = hex(transaction.max_fee_per_gas)
        fields["maxPriorityFeePerGas"] = hex(transaction.max_priority_fee_per_gas)
    if transaction.type == BLOB:
        fields["maxFeePerBlobGas"] = hex(transaction.max_fee_per_blob_gas)
        fields["blobVersionedHashes"] = [hexed(blob_hash) for blob_hash in transaction.blob_hashes]
    if transaction.type == SET_CODE:
        fields["authorizationList"] = [
            _authorization(authorization) for authorization in transaction.authorizations
        ]
    return fields


def access_list(entries: AccessList) -> list[Json]:
    """Return an EIP-2930 access list."""
    return [
        {"address": hexed(address), "storageKeys": [hexed(slot) for slot in slots]}
        for address, slots in entries
    ]


def _authorization(authorization: Authorization) -> Json:
    return {
        "chainId": hex(authorization.chain_id),
        "address": hexed(authorization.address),
        "nonce": hex(authorization.nonce),
        "yParity": hex(authorization.y_parity),
        "r": hex(authorization.r),
        "s": hex(authorization.s),
    }


def receipt(
    accepted: AcceptedBlock, index: int, logs: Raw, *, blob_price: int | None = None
) -> Json:
    """Return the receipt of a block's transaction with its logs.

    Args:
        accepted: The block.
        index: The transaction's index in the block.
        logs: The transaction's logs.
        blob_price: Wei per blob gas, for a transaction with blobs.
    """
    transaction = accepted.transactions[index]
    outcome = accepted.receipts[index]
    before = accepted.receipts[index - 1].cumulative_gas_used if index else 0
    created = _created(transaction)
    return {
        "type": hex(transaction.type),
        **_outcome(outcome),
        "transactionHash": hexed(transaction.hash),
        "transactionIndex": hex(index),
        "blockHash": hexed(accepted.hash),
        "blockNumber": hex(accepted.number),
        "from": hexed(transaction.sender),
        "to": None if transaction.to is None else hexed(transaction.to),
        "contractAddress": None if created is None else hexed(created),
        "gasUsed": hex(outcome.cumulative_gas_used - before),
        "cumulativeGasUsed": hex(outcome.cumulative_gas_used),
        "effectiveGasPrice": hex(transaction.effective_gas_price(accepted.header.base_fee or 0)),
        **_paid_for_blobs(transaction, blob_price),
        "logs": logs,
        "logsBloom": hexed(bloom_to_bytes(outcome.bloom)),
    }


def _outcome(outcome: Receipt) -> Json:
    """Return the status; before Byzantium the state root takes its place."""
    if outcome.state_root is not None:
        return {"root": hexed(outcome.state_root)}
    return {"status": "0x1" if outcome.succeeded else "0x0"}


def _paid_for_blobs(transaction: Transaction, blob_price: int | None) -> Json:
    if transaction.type != BLOB or blob_price is None:
        return {}
    return {"blobGasUsed": hex(transaction.blob_gas), "blobGasPrice": hex(blob_price)}


def _created(transaction: Transaction) -> Address | None:
    """Return the address of the contract that a creation creates, even if it fails."""
    if transaction.to is not None:
        return None
    return contract_address(transaction.sender, transaction.nonce)


def found_log(found: FoundLog) -> Json:
    """Return a log with its position in the chain."""
    return {
        "address": hexed(found.address),
        "topics": [hexed(topic) for topic in found.topics],
        "data": hexed(found.data),
        "blockNumber": hex(found.number),
        "blockHash": hexed(found.block_hash),
        "blockTimestamp": hex(found.timestamp),
        "transactionHash": hexed(found.transaction_hash),
        "transactionIndex": hex(found.transaction_index),
        "logIndex": hex(found.log_index),
        "removed": False,
    }


def inspected(transaction: Transaction) -> str:
    """Return a pending transaction as a line of text, in the format of txpool_inspect."""
    target = "contract creation" if transaction.to is None else checksum_address(transaction.to)
    return (
        f"{target}: {transaction.value} wei + {transaction.gas} gas"
        f" × {transaction.max_fee_per_gas} wei"
    )
