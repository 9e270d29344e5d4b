"""Issuing of signed transactions, their status, and fees.

Unspecified: numbers of fees are plain JSON numbers, as clients expect them. The specification writes numbers of
its own methods as strings; these are the reference's methods.
"""

from collections.abc import Sequence
from typing import Any

from chaindb import clock
from platform_app.api.errors import NOT_FOUND, behind, refused, saying
from platform_app.api.rpc import PlatformRpc
from platform_app.api.wire import Json, moment
from platform_app.executor.fees import price_of, validator_price
from platform_app.selectors import accepted
from platform_app.services import mempool
from platform_app.txs import codec
from platform_app.txs.base import Tx
from platform_app.txs.codec import GENESIS_CODEC
from platform_app.txs.render import render_tx
from primitives.checksummed import EncodingError, EncodingReason, TextEncoding, decode, encode
from primitives.codec_errors import CodecError
from primitives.ids import ID

_NO_CHECKSUM = frozenset({EncodingReason.MISSING_HEX_CHECKSUM, EncodingReason.WRONG_HEX_CHECKSUM})


def issue_txs(rpc: PlatformRpc, calls: Sequence[tuple[str, TextEncoding | None]]) -> list[Any]:
    """platform.issueTx: add a signed transaction to the mempool; returns its ID.

    Transactions of concurrent calls are admitted together. All acknowledged transactions are stored, in one commit. A
    transaction that is already pending or accepted is acknowledged again.
    """
    read = [_read_or_error(text, encoding) for text, encoding in calls]
    outcomes = iter(
        mempool.issue(rpc.chain, [item for item in read if isinstance(item, Tx)], now=clock.now())
    )
    return [_answer(next(outcomes)) if isinstance(other, Tx) else other for other in read]


def get_tx(rpc: PlatformRpc, tx_id: ID, encoding: TextEncoding) -> Json:
    """platform.getTx: an accepted transaction as bytes or as JSON with plain numbers."""
    stored = accepted.tx(rpc.chain, tx_id)
    if stored is None:
        raise refused(f"couldn't get tx: {NOT_FOUND}")
    if encoding is TextEncoding.JSON:
        tx = codec.parse(stored.raw, GENESIS_CODEC)
        return {"tx": render_tx(tx, rpc.address), "encoding": encoding.value}
    return {"tx": encode(stored.raw, encoding), "encoding": encoding.value}


def get_tx_status(rpc: PlatformRpc, tx_id: ID) -> Json:
    """platform.getTxStatus: the status of a transaction, and the reason if it was dropped."""
    decision = accepted.status(rpc.chain, tx_id)
    status = {"status": decision.status.label}
    return status | {"reason": decision.reason} if decision.reason else status


def _read_or_error(text: str, encoding: TextEncoding | None) -> Tx | Exception:
    try:
        return _read(text, encoding)
    except Exception as error:
        return error


def _read(text: str, encoding: TextEncoding | None) -> Tx:
    """Return the transaction in a string.

    Unspecified: the specification's hex has no checksum, the reference's has one. If no encoding is given and
    the last bytes are not a checksum, all bytes are the transaction, if they form one.
    """
    with saying("problem decoding transaction"):
        try:
            raw = decode(text, encoding or TextEncoding.HEX)
        except EncodingError as error:
            lacks_checksum = error.reason in _NO_CHECKSUM and encoding is None
            if lacks_checksum and (tx := _without_checksum(text)) is not None:
                return tx
            raise
    # The reference says it twice: for the argument, and for the transaction in it.
    with saying("couldn't parse tx"), saying("couldn't parse tx"):
        return codec.parse(raw)


def _without_checksum(text: str) -> Tx | None:
    try:
        return codec.parse(decode(text, TextEncoding.HEXNC))
    except CodecError:
        return None


def _answer(outcome: mempool.Outcome) -> Json | Exception:
    if isinstance(outcome, Exception):
        return behind("couldn't issue tx", outcome)
    return {"txID": str(outcome)}


def get_fee_config(rpc: PlatformRpc) -> Json:
    """platform.getFeeConfig: the parameters of gas and its price."""
    gas = rpc.chain.config.gas
    return {
        "weights": list(gas.weights),
        "maxCapacity": gas.max_capacity,
        "maxPerSecond": gas.max_per_second,
        "targetPerSecond": gas.target_per_second,
        "minPrice": gas.min_price,
        "excessConversionConstant": gas.excess_conversion,
    }


def get_fee_state(rpc: PlatformRpc) -> Json:
    """platform.getFeeState: gas left, gas used above the target, and the price of one gas now."""
    tip = rpc.chain.tip()
    return {
        "capacity": tip.fee_state.capacity,
        "excess": tip.fee_state.excess,
        "price": price_of(rpc.chain.config.gas, tip.fee_state),
        "timestamp": moment(tip.timestamp),
    }


def get_validator_fee_config(rpc: PlatformRpc) -> Json:
    """platform.getValidatorFeeConfig: the parameters of the continuous fee of L1 validators."""
    fees = rpc.chain.config.validator_fees
    return {
        "capacity": fees.capacity,
        "target": fees.target,
        "minPrice": fees.min_price,
        "excessConversionConstant": fees.excess_conversion,
    }


def get_validator_fee_state(rpc: PlatformRpc) -> Json:
    """platform.getValidatorFeeState: the state of that fee after the last accepted block."""
    tip = rpc.chain.tip()
    excess = tip.l1s.fees.excess
    return {
        "excess": excess,
        "price": validator_price(rpc.chain.config.validator_fees, excess),
        "timestamp": moment(tip.timestamp),
    }
