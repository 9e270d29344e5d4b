"""The page of a transaction: summary, decoded call and events, moved coins and tokens, calls, state changes, bytes."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse

from cchain_app.evm import failures
from cchain_app.evm.engine import AccountState
from cchain_app.evm.tracing import Frame, TouchedState
from cchain_app.selectors import blocks as chain_blocks
from cchain_app.selectors import pool as chain_pool
from cchain_app.transaction_log.reasons import FailureText, failure_of
from cchain_app.txs.codec import decode_unsigned
from cchain_app.txs.transaction import GAS_PER_BLOB, InvalidTransaction
from explorer_app.names.book import NO_ABI
from explorer_app.names.decoding import DecodedCall
from explorer_app.selectors import cchain, tokens, traces
from explorer_app.selectors.cchain import TransactionRow
from explorer_app.selectors.traces import Busy, TracedTransaction
from explorer_app.services import indexes
from explorer_app.site import Explorer
from explorer_app.views.answers import Abis
from explorer_app.views.cchain import method
from explorer_app.views.page import NO_PART, cchain_page, rendered
from explorer_app.views.tokens import transfer_rows
from primitives.evm import Address, Hash
from primitives.hashing import EMPTY_HASH

TABS: Final = {"": "Overview", "calls": "Calls", "state": "State changes", "raw": "Raw"}
MAX_LOGS: Final = 100
MAX_CALLS: Final = 300
MAX_CHANGES: Final = 300
_DEEPEST: Final = 12
"""Call frames below this depth are not indented any further."""
_HASH_BYTES: Final = 32
_MAX_INPUT: Final = 16 * 1024
_MOVING_NOTHING: Final = {"DELEGATECALL", "CALLCODE"}
"""Calls that transfer no value, because they run another contract's code in the caller's context."""
_NO_HASH: Final = "Not a transaction hash. A hash is 0x followed by 64 hexadecimal digits."
_NO_TRANSACTION: Final = "This node knows no transaction with this hash. It was never sent to this node, or was dropped or replaced."
_TYPES: Final = ("legacy", "access list", "dynamic fee", "blob", "set code")


class Event(NamedTuple):
    """A log with its decoded event."""

    address: bytes
    position: int
    """Index among the logs of its block."""
    topics: Sequence[bytes]
    data: bytes
    decoded: DecodedCall | None


class CallRow(NamedTuple):
    """A frame in the tree of calls."""

    frame: Frame
    indent: int
    decoded: DecodedCall | None
    method: str
    failure: str
    """The reason, if a failure originated in this frame; else empty."""

    @property
    def to(self) -> Address | None:
        """The called account or created contract; None for a creation that failed."""
        failed = self.frame.error and self.frame.type.startswith("CREATE")
        return None if failed else self.frame.to

    @property
    def value(self) -> int | None:
        """The value in wei that the call itself transfers."""
        return None if self.frame.type in _MOVING_NOTHING else self.frame.value


class AccountDifference(NamedTuple):
    """The changes of an account by a transaction."""

    address: Address
    balance: tuple[int, int] | None
    nonce: tuple[int, int] | None
    slots: Sequence[tuple[bytes, bytes, bytes]]
    """Slot, value before, value after."""
    code: bool
    """Whether its code changed."""


class BlobPayment(NamedTuple):
    """What a transaction paid for its blobs."""

    gas: int
    """Blob gas."""
    price: int
    """Wei per blob gas."""

    @property
    def fee(self) -> int:
        """The payment in wei, which is burnt."""
        return self.gas * self.price


@cchain_page
def tx(site: Explorer, request: HttpRequest, tx_hash: str) -> HttpResponse:
    """Show a transaction by its hash: `?tab=` selects a tab; also a pending transaction."""
    hash_ = _hash(tx_hash)
    row = cchain.transaction(site.evm, hash_)
    if row is None:
        return _pending(site, request, hash_)
    tab = request.GET.get("tab", "")
    if tab not in TABS:
        raise Http404(NO_PART)
    context: dict[str, Any] = {
        "section": "txs", "tx": row, "tab": tab, "tabs": TABS.items(), "looked_at": "0x" + bytes(row.hash).hex(),
    }  # fmt: skip
    show = {"": _overview, "calls": _calls, "state": _state, "raw": _raw}[tab]
    return rendered(site, request, "tx.html", {**context, **show(site, row)})


def _hash(text: str) -> Hash:
    try:
        hash_bytes = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raise Http404(_NO_HASH) from None
    if len(hash_bytes) != _HASH_BYTES:
        raise Http404(_NO_HASH)
    return Hash(hash_bytes)


def _pending(site: Explorer, request: HttpRequest, hash_: Hash) -> HttpResponse:
    tx = chain_pool.transaction(site.evm, hash_)
    if tx is None:
        raise Http404(_NO_TRANSACTION)
    context = {"section": "pool", "tx": tx, "decoded": site.names.call(tx.data)}
    return rendered(site, request, "tx_pending.html", context)


def _overview(site: Explorer, row: TransactionRow) -> dict[str, Any]:
    decoded = _decode(row.raw)
    data = decoded.data if decoded else b""
    abis = Abis(site)
    call = site.names.call(data, abis.of(row.to)) if row.to is not None else None
    before, after = cchain.neighbours(site.evm, row)
    logs = cchain.logs_of(site.evm, row, count=MAX_LOGS)
    head = chain_blocks.head(site.evm)
    events = [_event(site, abis, log) for log in logs]
    return {
        "method": method(site, row),
        "call": call,
        "message": "" if call or row.to is None else _text(data),
        "data": data[:_MAX_INPUT],
        "data_size": len(data),
        "kind": _TYPES[row.type] if row.type < len(_TYPES) else str(row.type),
        "envelope": decoded,
        "blobs": _blobs(site, row, decoded.blob_hashes) if decoded else None,
        "confirmations": head.number - row.number + 1,
        **({} if row.succeeded else _failure(site, abis, row)),
        "events": events,
        **_token_transfers(site, row, events),
        "before": before,
        "after": after,
    }


def _blobs(site: Explorer, row: TransactionRow, hashes: Sequence[Hash]) -> BlobPayment | None:
    if not hashes:
        return None
    (fees,) = chain_blocks.stored_blob_fees(site.evm, row.number, row.number)
    return BlobPayment(len(hashes) * GAS_PER_BLOB, fees.base_fee)


def _calls(site: Explorer, row: TransactionRow) -> dict[str, Any]:
    traced = _traced(site, row)
    frames = traced.trace.frames if traced.trace else ()
    return {
        "trouble": traced.trouble,
        "calls": list(_call_rows(site, frames[:MAX_CALLS])),
        "transfers": list(islice(_value_transfers(frames), MAX_CALLS)),
        "left_out": max(0, len(frames) - MAX_CALLS),
    }


def _state(site: Explorer, row: TransactionRow) -> dict[str, Any]:
    traced = _traced(site, row, state=True)
    touched = traced.trace.state if traced.trace else None
    changes = list(_changes(touched)) if touched else []
    return {
        "trouble": traced.trouble,
        "changes": changes[:MAX_CHANGES],
        "left_out": max(0, len(changes) - MAX_CHANGES),
    }


def _raw(_site: Explorer, row: TransactionRow) -> dict[str, Any]:
    return {"envelope_hex": "0x" + bytes(row.raw).hex()}


def _traced(site: Explorer, row: TransactionRow, *, state: bool = False) -> TracedTransaction:
    """Execute a transaction again; return the error if all places for executions are taken."""
    try:
        return traces.traced_in_turn(
            site.evm, site.executing, row.number, row.position, state=state
        )
    except Busy as error:
        return TracedTransaction(None, str(error))


def _decode(raw: bytes) -> Any:
    try:
        return decode_unsigned(bytes(raw))
    except InvalidTransaction:
        return None


def _text(data: bytes) -> str:
    """Return the input as text if it is printable (a message between people); else an empty text."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    return (
        text
        if text and all(character.isprintable() or character in "\r\n\t" for character in text)
        else ""
    )


def _failure(site: Explorer, abis: Abis, row: TransactionRow) -> dict[str, Any]:
    """Return why a transaction failed: as text, and as an error that its contract declares."""
    traced = _traced(site, row)
    frames = traced.trace.frames if traced.trace else ()
    named = failure_of(frames, site.known) if frames else None
    failure = named or FailureText(traced.trouble or "The transaction failed.")
    return {"failure": failure, "error": _declared(site, abis, frames)}


def _declared(site: Explorer, abis: Abis, frames: Sequence[Frame]) -> DecodedCall | None:
    """Return the error of the outermost frame, by the ABI of a contract that raised or passed it on."""
    for frame in frames:
        if frame.error != failures.REVERTED or frame.output != frames[0].output:
            return None
        error = site.names.error(frame.output, abis.of(frame.to))
        if error is not None and not error.is_guess:
            return error
    return None


def _token_transfers(
    site: Explorer, row: TransactionRow, events: Sequence[Event]
) -> dict[str, Any]:
    """Return token transfers from the index; for a block that is not indexed yet, the Transfer events."""
    if not indexes.wait_for_tokens(site, row.number):
        return {"transfer_events": [event for event in events if _is_transfer(event)]}
    return {"transfers": transfer_rows(tokens.transfers_in(site.evm, row.id))}


def _topics(log: Any) -> list[bytes]:
    words = (log.topic0, log.topic1, log.topic2, log.topic3)
    return [bytes(word) for word in words if word is not None]


def _event(site: Explorer, abis: Abis, log: Any) -> Event:
    topics = _topics(log)
    data = bytes(log.data)
    decoded = site.names.event(topics, data, abis.of(log.address))
    return Event(log.address, log.index, topics, data, decoded)


def _is_transfer(event: Event) -> bool:
    return event.decoded is not None and event.decoded.name.startswith("Transfer")


def _call_rows(site: Explorer, frames: Sequence[Frame]) -> Iterator[CallRow]:
    abis = Abis(site)
    for index, frame in enumerate(frames):
        creates = frame.type.startswith("CREATE")
        abi = NO_ABI if creates else abis.of(frame.to)
        failed = failure_of(_alone(frames, index), site.known) if frame.error else None
        yield CallRow(
            frame,
            min(frame.depth, _DEEPEST),
            None if creates else site.names.call(frame.input, abi),
            "" if creates else site.names.method(frame.input, abi),
            failed.reason if failed and failed.frame is None else "",
        )


def _value_transfers(frames: Iterable[Frame]) -> Iterator[Frame]:
    """Yield the frames that moved coins; a failed frame undoes everything inside it."""
    failed: int | None = None
    for frame in frames:
        if failed is None or frame.depth <= failed:
            failed = frame.depth if frame.error else None
            if frame.value and failed is None and frame.type not in _MOVING_NOTHING:
                yield frame


def _alone(frames: Sequence[Frame], index: int) -> list[Frame]:
    """Return a frame and its inner frames, as if it were the outermost frame of a transaction."""
    depth = frames[index].depth
    inside = [frames[index]._replace(depth=0)]
    for frame in frames[index + 1 :]:
        if frame.depth <= depth:
            break
        inside.append(frame._replace(depth=frame.depth - depth))
    return inside


def _changes(touched: TouchedState) -> Iterator[AccountDifference]:
    changed = touched.changes
    slots: dict[Address, list[tuple[bytes, bytes, bytes]]] = {}
    for (address, slot), values in changed.storage.items():
        slots.setdefault(address, []).append((slot, values.before, values.after))
    for address in sorted({*changed.accounts, *slots}):
        account = changed.accounts.get(address)
        was, now = (account.before, account.after) if account else (None, None)
        yield AccountDifference(
            address,
            _pair(was.balance if was else 0, now.balance if now else 0) if account else None,
            _pair(was.nonce if was else 0, now.nonce if now else 0) if account else None,
            sorted(slots.get(address, ())),
            _code_hash(was) != _code_hash(now),
        )


def _code_hash(account: AccountState | None) -> Hash:
    return EMPTY_HASH if account is None else account.code_hash


def _pair(before: int, after: int) -> tuple[int, int] | None:
    return None if before == after else (before, after)
