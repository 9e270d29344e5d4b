"""Issuing of signed transactions, and their status."""

from collections.abc import Sequence
from typing import Any

from chaindb import clock
from platform_app.api.errors import NOT_FOUND, behind, refused, saying
from platform_app.api.rpc import PlatformRpc
from platform_app.api.wire import Json
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
    found = accepted.tx(rpc.chain, tx_id)
    if found is None:
        raise refused(f"couldn't get tx: {NOT_FOUND}")
    if encoding is TextEncoding.JSON:
        tx = codec.parse(found.raw, GENESIS_CODEC)
        return {"tx": render_tx(tx, rpc.address), "encoding": encoding.value}
    return {"tx": encode(found.raw, encoding), "encoding": encoding.value}


def get_tx_status(rpc: PlatformRpc, tx_id: ID) -> Json:
    """platform.getTxStatus: the status of a transaction, and the reason if it was dropped."""
    found = accepted.status(rpc.chain, tx_id)
    status = {"status": found.status.label}
    return status | {"reason": found.reason} if found.reason else status


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
    with saying("couldn't parse tx"):
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
