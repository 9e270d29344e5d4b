"""Issuing of signed transactions, and their status."""

from collections.abc import Sequence
from typing import Any, Final

from chaindb import clock
from jsonrpc.dispatch.values import refused
from primitives.checksummed import EncodingError, EncodingReason, TextEncoding, decode, encode
from primitives.codec_errors import CodecError
from primitives.ids import EMPTY_ID, ID
from xchain_app.api.rpc import ERRORS, NOT_FOUND, AvmRpc, Json
from xchain_app.selectors import accepted
from xchain_app.services import mempool
from xchain_app.txs.base import AvmTx
from xchain_app.txs.codec import parse, parse_stored
from xchain_app.txs.views import render_tx

NIL_TX_ID: Final = "nil transaction ID"

_NO_CHECKSUM = frozenset({EncodingReason.MISSING_HEX_CHECKSUM, EncodingReason.WRONG_HEX_CHECKSUM})


def issue_txs(rpc: AvmRpc, calls: Sequence[tuple[str, TextEncoding | None]]) -> list[Any]:
    """avm.issueTx: add a signed transaction to the mempool; returns its ID.

    Transactions of concurrent calls are admitted together. All acknowledged transactions are stored, in one commit. A
    pending transaction is acknowledged again; an accepted one is refused, because its outputs are spent.
    """
    read = [_read_or_error(text, encoding) for text, encoding in calls]
    txs = [item for item in read if isinstance(item, AvmTx)]
    outcomes = iter(mempool.issue(rpc.chain, txs, now=clock.now()) if txs else ())
    return [_answer(next(outcomes)) if isinstance(item, AvmTx) else item for item in read]


def issue_wallet_txs(rpc: AvmRpc, calls: Sequence[tuple[str, TextEncoding | None]]) -> list[Any]:
    """wallet.issueTx: add a signed transaction to the mempool, as `avm.issueTx` does; returns its ID.

    Unspecified: the reference puts the transaction into its mempool without any verification. Here it is verified on the
    last accepted state.
    """
    return issue_txs(rpc, calls)


def get_tx(rpc: AvmRpc, tx_id: ID, encoding: TextEncoding) -> Json:
    """avm.getTx: an accepted transaction as bytes or as JSON with plain numbers."""
    if tx_id == EMPTY_ID:
        raise refused(NIL_TX_ID)
    stored = accepted.tx(rpc.chain, tx_id)
    if stored is None:
        raise refused(NOT_FOUND)
    if encoding is TextEncoding.JSON:
        shown = render_tx(parse_stored(stored.raw), rpc.chain.address)
        return {"tx": shown, "encoding": encoding.value}
    return {"tx": encode(stored.raw, encoding), "encoding": encoding.value}


def get_tx_status(rpc: AvmRpc, tx_id: ID) -> Json:
    """avm.getTxStatus: `Accepted` for an accepted transaction, `Unknown` for any other, pending ones included."""
    if tx_id == EMPTY_ID:
        raise refused(NIL_TX_ID)
    return {"status": "Unknown" if accepted.tx(rpc.chain, tx_id) is None else "Accepted"}


def _read_or_error(text: str, encoding: TextEncoding | None) -> AvmTx | Exception:
    try:
        return _read(text, encoding)
    except Exception as error:
        return error


def _read(text: str, encoding: TextEncoding | None) -> AvmTx:
    """Return the transaction in a string.

    Unspecified: the specification's hex has no checksum, the reference's has one. If no encoding is given and
    the last bytes are not a checksum, all bytes are the transaction, if they form one.
    """
    with ERRORS.saying("problem decoding transaction"):
        try:
            raw = decode(text, encoding or TextEncoding.HEX)
        except EncodingError as error:
            lacks_checksum = error.reason in _NO_CHECKSUM and encoding is None
            if lacks_checksum and (tx := _without_checksum(text)) is not None:
                return tx
            raise
    return parse(raw)


def _without_checksum(text: str) -> AvmTx | None:
    try:
        return parse(decode(text, TextEncoding.HEXNC))
    except CodecError:
        return None


def _answer(outcome: ID | Exception) -> Json | Exception:
    return outcome if isinstance(outcome, Exception) else {"txID": str(outcome)}
