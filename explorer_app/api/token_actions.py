"""Etherscan's questions about tokens: what a contract answers itself; transfers, holders and balances from rows."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Final

from cchain_app.selectors import blocks
from explorer_app.api.account_actions import span_of
from explorer_app.api.proxy_actions import ask_for_text
from explorer_app.api.replies import (
    ActionError,
    BadAddress,
    NotIndexed,
    Query,
    Reply,
    TooMuch,
    text_of,
)
from explorer_app.selectors import token_ledger, tokens
from explorer_app.selectors.ledger import ListTooLong
from explorer_app.selectors.tokens import BalanceRow, TokenRow, TransferRow
from explorer_app.tokens.events import Kind

_COLLECTIONS: Final = (Kind.ERC721, Kind.ERC1155)
_BALANCE_OF: Final = "0x70a08231"
_TOTAL_SUPPLY: Final = "0x18160ddd"
_WORD: Final = 66
"""Characters of a word as 0x text."""


class NoToken(ActionError):
    """A contract that does not answer as a token does."""

    text: ClassVar[str] = "Error! The contract is no token"


def tokenbalance(query: Query) -> Reply:
    """Return what an account has of a token, as the contract says; with `tag` at a height."""
    account = query.address("address")
    return Reply.ok(str(_asked(query, f"{_BALANCE_OF}{account.hex():0>64}")))


def tokensupply(query: Query) -> Reply:
    """Return how much of a token there is, as the contract says."""
    return Reply.ok(str(_asked(query, _TOTAL_SUPPLY)))


def _asked(query: Query, data: str) -> int:
    contract = text_of(query.address("contractaddress"))
    call = {"to": contract, "data": data}
    found = ask_for_text(query, "eth_call", [call, query.text("tag") or "latest"])
    if found is None or len(found) != _WORD:
        raise NoToken
    return int(found, 16)


def transfers(kind: Kind, query: Query) -> Reply:
    """Return transfers of one standard: of an address, of a contract, or of both."""
    address = query.address() if query.text("address") else None
    contract = query.address("contractaddress") if query.text("contractaddress") else None
    if address is None and contract is None:
        raise BadAddress
    _need_index(query)
    evm = query.site.evm
    try:
        rows = token_ledger.transfers(evm, kind, address, contract, span_of(query.range()))
    except ListTooLong as error:
        raise TooMuch from error
    receipts = token_ledger.receipts(evm, rows)
    head = blocks.head(evm).number
    listed = [_transfer(kind, row, receipts[row.transaction_id], head) for row in rows]
    return Reply.rows(listed, "No transactions found")


def balances(query: Query, *, collections: bool) -> Reply:
    """Return what an address has of tokens: of ERC-20, or of how many ids of the others."""
    _need_index(query)
    wanted = query.range(count=100)
    part, rest = tokens.balances_of(
        query.site.evm,
        query.address(),
        kinds=_COLLECTIONS if collections else (Kind.ERC20,),
        first=wanted.skip,
        count=wanted.most,
    )
    if rest is not None and len(part) < wanted.most:
        raise TooMuch
    return Reply.rows([_balance(one) for one in part], "No tokens found")


def tokeninfo(query: Query) -> Reply:
    """Return what a token says of itself."""
    return Reply.ok([_info(_token(query))])


def tokenholderlist(query: Query) -> Reply:
    """Return who holds a token, who has most first."""
    wanted = query.range()
    token = _token(query)
    found = tokens.holders(query.site.evm, token, first=wanted.skip, count=wanted.most)
    listed = [
        {
            "TokenHolderAddress": text_of(one.holder),
            "TokenHolderQuantity": str(one.amount),
        }
        for one in found
    ]
    return Reply.rows(listed, "No token holder found")


def tokenholdercount(query: Query) -> Reply:
    """Return how many hold a token. Unspecified: counted up to ten thousand and one, as pages do."""
    return Reply.ok(str(tokens.count_holders(query.site.evm, _token(query))))


def _need_index(query: Query) -> None:
    """Refuse where transfers are no rows.

    Raises:
        NotIndexed: NODE_TOKEN_INDEX was never on.
    """
    if tokens.progress(query.site.evm) is None:
        raise NotIndexed


def _token(query: Query) -> TokenRow:
    address = query.address("contractaddress")
    _need_index(query)
    found = tokens.token(query.site.evm, address)
    if found is None:
        raise NoToken
    return found


def _transfer(kind: Kind, row: TransferRow, receipt: Any, head: int) -> dict[str, str]:
    sent, token = row.transaction, row.contract
    moved = {
        Kind.ERC20: {"value": str(row.value), "tokenDecimal": _text(token.decimals)},
        Kind.ERC721: {"tokenID": _text(row.token_id), "tokenDecimal": "0"},
        Kind.ERC1155: {"tokenID": _text(row.token_id), "tokenValue": str(row.value)},
    }[kind]
    return {
        "blockNumber": str(sent.block_id),
        "timeStamp": str(sent.block.timestamp),
        "hash": text_of(sent.hash),
        "nonce": str(sent.nonce),
        "blockHash": text_of(sent.block.hash),
        "from": text_of(row.sender),
        "contractAddress": text_of(token.address),
        "to": text_of(row.to),
        "tokenName": token.name or "",
        "tokenSymbol": token.symbol or "",
        **moved,
        "transactionIndex": str(sent.index),
        "gas": str(sent.gas),
        "gasPrice": str(receipt.effective_gas_price),
        "gasUsed": str(receipt.gas_used),
        "cumulativeGasUsed": str(receipt.cumulative_gas_used),
        "input": "deprecated",
        "confirmations": str(head - sent.block_id + 1),
    }


def _balance(one: BalanceRow) -> dict[str, str]:
    token = one.contract
    found = {
        "TokenAddress": text_of(token.address),
        "TokenName": token.name or "",
        "TokenSymbol": token.symbol or "",
        "TokenQuantity": str(one.amount),
    }
    return found | ({"TokenDivisor": _text(token.decimals)} if one.kind == Kind.ERC20 else {})


def _info(token: TokenRow) -> dict[str, str]:
    assert token.kind is not None
    return {
        "contractAddress": text_of(token.address),
        "tokenName": token.name or "",
        "symbol": token.symbol or "",
        "divisor": _text(token.decimals),
        "tokenType": f"ERC-{token.kind}",
        "totalSupply": _text(token.total_supply),
    }


def _text(number: int | None) -> str:
    """Return a number as text; empty where nobody told it."""
    return "" if number is None else str(number)


OF_ACCOUNTS: Final[dict[str, Callable[[Query], Reply]]] = {
    "tokenbalance": tokenbalance,
    "tokentx": partial(transfers, Kind.ERC20),
    "tokennfttx": partial(transfers, Kind.ERC721),
    "token1155tx": partial(transfers, Kind.ERC1155),
    "addresstokenbalance": partial(balances, collections=False),
    "addresstokennftbalance": partial(balances, collections=True),
}
OF_SUPPLY: Final = {"tokensupply": tokensupply}
ACTIONS: Final[dict[str, Callable[[Query], Reply]]] = {
    "tokeninfo": tokeninfo,
    "tokenholderlist": tokenholderlist,
    "tokenholdercount": tokenholdercount,
}
