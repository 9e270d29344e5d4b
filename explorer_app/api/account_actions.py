"""Etherscan's module `account`, except tokens: balances, transactions, internal transactions, mined blocks."""

from typing import Any, Final

from cchain_app.selectors import blocks
from cchain_app.selectors import calls as chain_calls
from cchain_app.selectors.state import state_at
from cchain_app.services import calls
from cchain_app.store.history import StatePruned
from cchain_app.transaction_log.declarations import Declaration
from chaindb.fields import height_of
from explorer_app.api.replies import (
    LATEST,
    ActionError,
    ActionReason,
    ActionReply,
    Query,
    Range,
    text_of,
)
from explorer_app.selectors import ledger, sums
from explorer_app.selectors.ledger import ListedTransaction, ListTooLong, Span
from primitives.evm import Address

MAX_BALANCES: Final = 20
_NOTHING: Final = "No transactions found"
_NO_CALLS: Final = "No internal transactions found"
_SELECTOR: Final = 4


def span_of(range_: Range) -> Span:
    """Convert the requested range to the form that selectors take."""
    return Span(range_.first, range_.last, range_.skip, range_.maximum, range_.descending)


def balance(query: Query) -> ActionReply:
    """Return an account's balance in wei: at the head, or at the height given by `tag`."""
    return ActionReply.ok(str(_balance(query, query.address())))


def balancemulti(query: Query) -> ActionReply:
    """Return the balances of several accounts."""
    return ActionReply.ok(
        [
            {"account": text_of(address), "balance": str(_balance(query, address))}
            for address in query.addresses("address", MAX_BALANCES)
        ]
    )


def txlist(query: Query) -> ActionReply:
    """Return transactions that an address sent or received, or that created it, including failed ones."""
    try:
        rows = ledger.transactions_of(query.site.evm, query.address(), span_of(query.range()))
    except ListTooLong as error:
        raise ActionError(ActionReason.TOO_MUCH) from error
    head = blocks.head(query.site.evm).number
    return ActionReply.rows([_transaction(query, row, head) for row in rows], _NOTHING)


def txlistinternal(query: Query) -> ActionReply:
    """Return internal transactions (calls with value, creations, SELFDESTRUCTs) of an address, of a transaction, or all.

    Unspecified: a request for all is limited to as many blocks as a search for logs without an index.
    """
    evm = query.site.evm
    if query.text("txhash"):
        receipt = ledger.receipt(evm, query.hash())
        if receipt is None:
            raise ActionError(ActionReason.BAD_HASH)
        _need_calls(query, height_of(receipt[0]))
        rows = ledger.calls_in(evm, receipt[0])
        return ActionReply.rows([_call(row, of_one=True) for row in rows], _NO_CALLS)
    address = query.address() if query.text("address") else None
    span = span_of(query.range())
    if address is None:
        span = span._replace(last=min(span.last, blocks.head(evm).number))
        if span.last - span.first >= ledger.UNINDEXED_BLOCKS:
            raise ActionError(ActionReason.TOO_MUCH)
    _need_calls(query, span.last)
    rows = ledger.calls_of(evm, address, span)
    return ActionReply.rows([_call(row) for row in rows], _NO_CALLS)


def getminedblocks(query: Query) -> ActionReply:
    """Return blocks whose coinbase is an address, the latest first.

    Unspecified: only the last 100,000 blocks are searched; the reward is the sum of tips, since nothing else is paid.
    """
    evm = query.site.evm
    span = span_of(query.range(count=100))._replace(descending=True)
    if span.maximum > 1000:
        raise ActionError(ActionReason.TOO_MUCH)
    head = blocks.head(evm).number
    rows = sums.mined_by(evm, query.address(), head, span)
    try:
        paid = sums.tips(evm, [number for number, _ in rows])
    except ListTooLong as error:
        raise ActionError(ActionReason.TOO_MUCH) from error
    transfers = [
        {"blockNumber": str(number), "timeStamp": str(timestamp), "blockReward": str(paid[number])}
        for number, timestamp in rows
    ]
    return ActionReply.rows(transfers, _NOTHING)


def txsbeaconwithdrawal(query: Query) -> ActionReply:
    """Return an empty list: this chain has no withdrawals."""
    query.address()
    return ActionReply.rows([], _NOTHING)


def function_text(declaration: Declaration | None) -> str:
    """Return a function in Etherscan's format: `transfer(address to, uint256 value)`; empty for None."""
    if declaration is None:
        return ""
    parameters = (
        f"{parameter.type} {parameter.name}".rstrip() for parameter in declaration.parameters
    )
    return f"{declaration.name}({', '.join(parameters)})"


def _need_calls(query: Query, number: int) -> None:
    """Wait until the calls of blocks up to a height are rows.

    Raises:
        ActionError: NODE_TRACE_INDEX was never set.
        IndexBehind: They are still not written.
    """
    calls.require_calls(query.site.evm, number)
    if chain_calls.progress(query.site.evm) is None:
        raise ActionError(ActionReason.NO_CALLS_INDEXED)


def _balance(query: Query, address: Address) -> int:
    evm = query.site.evm
    head = blocks.head(evm).number
    height = min(query.height("tag", default=LATEST), head)
    try:
        account = state_at(evm, height).account(address)
    except StatePruned as error:
        raise ActionError(ActionReason.STATE_PRUNED) from error
    return 0 if account is None else account.balance


def _transaction(query: Query, row: ListedTransaction, head: int) -> dict[str, str]:
    data = row.data
    declaration = query.site.names.function(data)
    return {
        "blockNumber": str(row.number),
        "timeStamp": str(row.timestamp),
        "hash": text_of(row.hash),
        "nonce": str(row.nonce),
        "blockHash": text_of(row.block_hash),
        "transactionIndex": str(row.position),
        "from": text_of(row.sender),
        "to": "" if row.to is None else text_of(row.to),
        "value": str(row.value),
        "gas": str(row.gas),
        "gasPrice": str(row.price),
        "isError": "0" if row.succeeded else "1",
        "txreceipt_status": "1" if row.succeeded else "0",
        "input": text_of(data),
        "contractAddress": "" if row.created is None else text_of(row.created),
        "cumulativeGasUsed": str(row.cumulative_gas_used),
        "gasUsed": str(row.gas_used),
        "confirmations": str(head - row.number + 1),
        "methodId": text_of(data[:_SELECTOR]),
        "functionName": function_text(declaration),
    }


def _call(row: Any, *, of_one: bool = False) -> dict[str, str]:
    """Return a call in Etherscan's format; in the list of one transaction without hash and trace ID."""
    sent, created = row.transaction, row.creates
    to = "" if row.to is None else text_of(row.to)
    fields = {
        "blockNumber": str(sent.block_id),
        "timeStamp": str(sent.block.timestamp),
        "hash": text_of(sent.hash),
        "from": text_of(row.sender),
        "to": "" if created else to,
        "value": str(row.value or 0),
        "contractAddress": to if created else "",
        "input": "",
        "type": row.get_type_display().lower(),
        "gas": str(row.gas or 0),
        "gasUsed": str(row.gas_used or 0),
        "traceId": row.trace_address,
        "isError": "0" if row.succeeded else "1",
        "errCode": row.error or "",
    }
    if of_one:
        del fields["hash"], fields["traceId"]
    return fields


ACTIONS: Final = {
    action.__name__: action
    for action in (
        balance, balancemulti, txlist, txlistinternal, getminedblocks, txsbeaconwithdrawal
    )
}  # fmt: skip
