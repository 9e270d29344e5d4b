"""The page of a transaction: summary, decoded call and events, moved coins and tokens, calls, state changes, bytes."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse

from cchain_app.evm import failures
from cchain_app.evm.tracing import Frame
from cchain_app.selectors import blocks as chain_blocks
from cchain_app.selectors import pool as chain_pool
from cchain_app.transaction_log.reasons import FailureText, failure_of, failure_path
from cchain_app.txs.codec import decode_unsigned
from cchain_app.txs.transaction import GAS_PER_BLOB, InvalidTransaction
from explorer_app.names.decoding import DecodedCall
from explorer_app.selectors import cchain, tokens, traces
from explorer_app.selectors.cchain import TransactionRow
from explorer_app.selectors.traces import Busy, TracedTransaction
from explorer_app.services import indexes
from explorer_app.site import Explorer
from explorer_app.views.answers import PageContracts
from explorer_app.views.cchain import message_of
from explorer_app.views.differences import changed_accounts, with_names
from explorer_app.views.page import NO_PART, cchain_page, rendered
from explorer_app.views.summaries import SummarizedTx, TransactionOutcome, summary
from explorer_app.views.tokens import transfer_rows
from primitives.evm import Address, Hash

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


class BlobPayment(NamedTuple):
    """The payment of a transaction for its blobs."""

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
    contracts = PageContracts(site, [tx.to])
    call = contracts.call(tx.to, tx.data)
    message = "" if call or tx.to is None else message_of(tx.data)
    parts = SummarizedTx(
        tx.sender,
        tx.to,
        tx.value,
        len(tx.data),
        TransactionOutcome.PENDING,
        call=call,
        message=message,
    )
    context = {
        "section": "pool",
        "tx": tx,
        "decoded": call,
        "summary": summary(parts, contracts.tokens),
    }
    return rendered(site, request, "tx_pending.html", context)


def _overview(site: Explorer, row: TransactionRow) -> dict[str, Any]:
    decoded = _decode(row.raw)
    data = decoded.data if decoded else b""
    is_indexed = indexes.wait_for_tokens(site, row.number)
    logs = cchain.logs_of(site.evm, row, count=MAX_LOGS)
    contracts = PageContracts(site, [row.to, *(log.address for log in logs)])
    call = contracts.call(row.to, data)
    message = "" if call or row.to is None else message_of(data)
    outcome = TransactionOutcome.SUCCEEDED if row.succeeded else TransactionOutcome.FAILED
    parts = SummarizedTx(
        row.sender, row.to, row.value, len(data), outcome, row.recipient, call, message
    )
    before, after = cchain.neighbours(site.evm, row)
    head = chain_blocks.head(site.evm)
    events = [_event(contracts, log) for log in logs]
    return {
        "summary": summary(parts, contracts.tokens),
        "call": call,
        "message": message,
        "data": data[:_MAX_INPUT],
        "data_size": len(data),
        "kind": _TYPES[row.type] if row.type < len(_TYPES) else str(row.type),
        "envelope": decoded,
        "blobs": _blobs(site, row, decoded.blob_hashes) if decoded else None,
        "confirmations": head.number - row.number + 1,
        **({} if row.succeeded else _failure(site, contracts, row)),
        "events": events,
        **_token_transfers(site, row, events, is_indexed=is_indexed),
        "before": before,
        "after": after,
    }


def _blobs(site: Explorer, row: TransactionRow, hashes: Sequence[Hash]) -> BlobPayment | None:
    if not hashes:
        return None
    (fees,) = chain_blocks.stored_fees(site.evm, row.number, row.number)
    return BlobPayment(len(hashes) * GAS_PER_BLOB, fees.blobs.base_fee)


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
    trace = traced.trace
    changes = [] if trace is None or trace.state is None else changed_accounts(trace.state)
    shown = changes[:MAX_CHANGES]
    return {
        "trouble": traced.trouble,
        "changes": shown if trace is None else with_names(site, shown, trace.frames),
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


def _failure(site: Explorer, contracts: PageContracts, row: TransactionRow) -> dict[str, Any]:
    """Return why a transaction failed: as text, as an error that its contract declares, and the call that failed."""
    traced = _traced(site, row)
    frames = traced.trace.frames if traced.trace else ()
    path = failure_path(frames)
    contracts.find_tokens(frame.to for frame in path)
    named = failure_of(frames, site.known) if frames else None
    failure = named or FailureText(traced.trouble or "The transaction failed.")
    context: dict[str, Any] = {"failure": failure, "error": _declared(contracts, frames)}
    if path and path[-1].depth:
        inner = path[-1]
        is_call = not inner.type.startswith("CREATE")
        context["failed_frame"] = inner
        context["failed_method"] = contracts.method(inner.to, inner.input) if is_call else ""
    return context


def _declared(contracts: PageContracts, frames: Sequence[Frame]) -> DecodedCall | None:
    """Return the error of the outermost frame, by the ABI of a contract that raised or passed it on."""
    for frame in frames:
        if frame.error != failures.REVERTED or frame.output != frames[0].output:
            return None
        error = contracts.error(frame.to, frame.output)
        if error is not None and not error.is_guess:
            return error
    return None


def _token_transfers(
    site: Explorer, row: TransactionRow, events: Sequence[Event], *, is_indexed: bool
) -> dict[str, Any]:
    """Return token transfers from the index; for a block that is not indexed yet, the Transfer events."""
    if not events:
        return {"transfers": []}
    if not is_indexed:
        return {"transfer_events": [event for event in events if _is_transfer(event)]}
    return {"transfers": transfer_rows(tokens.transfers_in(site.evm, row.id))}


def _topics(log: Any) -> list[bytes]:
    words = (log.topic0, log.topic1, log.topic2, log.topic3)
    return [bytes(word) for word in words if word is not None]


def _event(contracts: PageContracts, log: Any) -> Event:
    topics = _topics(log)
    data = bytes(log.data)
    decoded = contracts.event(log.address, topics, data)
    return Event(log.address, log.index, topics, data, decoded)


def _is_transfer(event: Event) -> bool:
    return event.decoded is not None and event.decoded.name.startswith("Transfer")


def _call_rows(site: Explorer, frames: Sequence[Frame]) -> Iterator[CallRow]:
    contracts = PageContracts(site, [frame.to for frame in frames])
    for index, frame in enumerate(frames):
        creates = frame.type.startswith("CREATE")
        failed = failure_of(_alone(frames, index), site.known) if frame.error else None
        yield CallRow(
            frame,
            min(frame.depth, _DEEPEST),
            None if creates else contracts.call(frame.to, frame.input),
            "" if creates else contracts.method(frame.to, frame.input),
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
