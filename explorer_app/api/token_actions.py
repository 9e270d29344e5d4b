"""Etherscan's token actions: some ask the contract; transfers, holders and balances come from the index."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from cchain_app.selectors import blocks
from explorer_app.api.account_actions import span_of
from explorer_app.api.chain_actions import ask_for_text
from explorer_app.api.replies import (
    LATEST,
    ActionError,
    ActionReason,
    ActionReply,
    Query,
    text_of,
)
from explorer_app.selectors import token_logs, tokens
from explorer_app.selectors.ledger import ListTooLong
from explorer_app.selectors.tokens import BalanceRow, TokenRow, TransferRow
from explorer_app.services import indexes
from explorer_app.tokens.events import TokenStandard

_COLLECTIONS: Final = (TokenStandard.ERC721, TokenStandard.ERC1155)
_BALANCE_OF: Final = "0x70a08231"
_TOTAL_SUPPLY: Final = "0x18160ddd"
_WORD: Final = 66
"""Length of a 32-byte word as 0x text."""


def tokenbalance(query: Query) -> ActionReply:
    """Return an account's balance of a token, as the contract reports it; at the height of `tag`, if given."""
    account = query.address("address")
    return ActionReply.ok(str(_asked(query, f"{_BALANCE_OF}{account.hex():0>64}")))


def tokensupply(query: Query) -> ActionReply:
    """Return a token's total supply, as the contract reports it."""
    return ActionReply.ok(str(_asked(query, _TOTAL_SUPPLY)))


def _asked(query: Query, data: str) -> int:
    contract = text_of(query.address("contractaddress"))
    call = {"to": contract, "data": data}
    reply = ask_for_text(query, "eth_call", [call, query.text("tag") or "latest"])
    if reply is None or len(reply) != _WORD:
        raise ActionError(ActionReason.NO_TOKEN)
    return int(reply, 16)


def transfers(kind: TokenStandard, query: Query) -> ActionReply:
    """Return transfers of one standard, by address, by contract, or by both."""
    address = query.address() if query.text("address") else None
    contract = query.address("contractaddress") if query.text("contractaddress") else None
    if address is None and contract is None:
        raise ActionError(ActionReason.BAD_ADDRESS)
    evm, span = query.site.evm, span_of(query.range())
    _need_index(query, span.last)
    try:
        rows = token_logs.transfers(evm, kind, address, contract, span)
    except ListTooLong as error:
        raise ActionError(ActionReason.TOO_MUCH) from error
    receipts = token_logs.receipts(evm, rows)
    head = blocks.head(evm).number
    records = [_transfer(kind, row, receipts[row.transaction_id], head) for row in rows]
    return ActionReply.rows(records, "No transactions found")


def balances(query: Query, *, collections: bool) -> ActionReply:
    """Return an address's token balances: ERC-20 amounts, or the numbers of NFTs."""
    _need_index(query, balances=True)
    range_ = query.range(count=100)
    part, next_key = tokens.balances_of(
        query.site.evm,
        query.address(),
        kinds=_COLLECTIONS if collections else (TokenStandard.ERC20,),
        first=range_.skip,
        count=range_.maximum,
    )
    if next_key is not None and len(part) < range_.maximum:
        raise ActionError(ActionReason.TOO_MUCH)
    return ActionReply.rows([_balance(balance) for balance in part], "No tokens found")


def tokeninfo(query: Query) -> ActionReply:
    """Return a token's own description."""
    return ActionReply.ok([_info(_token(query))])


def tokenholderlist(query: Query) -> ActionReply:
    """Return the holders of a token, the largest first."""
    range_ = query.range()
    token = _token(query)
    balances = tokens.holders(query.site.evm, token, first=range_.skip, count=range_.maximum)
    records = [
        {
            "TokenHolderAddress": text_of(balance.holder),
            "TokenHolderQuantity": str(balance.amount),
        }
        for balance in balances
    ]
    return ActionReply.rows(records, "No token holder found")


def tokenholdercount(query: Query) -> ActionReply:
    """Return the number of holders of a token. Unspecified: counted up to ten thousand and one, as on pages."""
    return ActionReply.ok(str(tokens.count_holders(query.site.evm, _token(query))))


def _need_index(query: Query, number: int = LATEST, *, balances: bool = False) -> None:
    """Wait until the transfers of blocks up to a height are indexed.

    Args:
        query: The request.
        number: The height; by default that of the head.
        balances: Whether to wait for the contracts' answers about balances too.

    Raises:
        ActionError: NODE_TOKEN_INDEX was never set.
        IndexBehind: The transfers are still not indexed.
    """
    indexes.require_tokens(query.site, number, balances=balances)
    if tokens.progress(query.site.evm) is None:
        raise ActionError(ActionReason.NOT_INDEXED)


def _token(query: Query) -> TokenRow:
    address = query.address("contractaddress")
    _need_index(query, balances=True)
    row = tokens.token(query.site.evm, address)
    if row is None:
        raise ActionError(ActionReason.NO_TOKEN)
    return row


def _transfer(kind: TokenStandard, row: TransferRow, receipt: Any, head: int) -> dict[str, str]:
    sent, token = row.transaction, row.contract
    fields = {
        TokenStandard.ERC20: {"value": str(row.value), "tokenDecimal": _text(token.decimals)},
        TokenStandard.ERC721: {"tokenID": _text(row.token_id), "tokenDecimal": "0"},
        TokenStandard.ERC1155: {"tokenID": _text(row.token_id), "tokenValue": str(row.value)},
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
        **fields,
        "transactionIndex": str(sent.index),
        "gas": str(sent.gas),
        "gasPrice": str(receipt.effective_gas_price),
        "gasUsed": str(receipt.gas_used),
        "cumulativeGasUsed": str(receipt.cumulative_gas_used),
        "input": "deprecated",
        "confirmations": str(head - sent.block_id + 1),
    }


def _balance(balance: BalanceRow) -> dict[str, str]:
    token = balance.contract
    fields = {
        "TokenAddress": text_of(token.address),
        "TokenName": token.name or "",
        "TokenSymbol": token.symbol or "",
        "TokenQuantity": str(balance.amount),
    }
    return fields | (
        {"TokenDivisor": _text(token.decimals)} if balance.kind == TokenStandard.ERC20 else {}
    )


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
    """Return a number as text; empty if it is unknown."""
    return "" if number is None else str(number)


OF_ACCOUNTS: Final[dict[str, Callable[[Query], ActionReply]]] = {
    "tokenbalance": tokenbalance,
    "tokentx": partial(transfers, TokenStandard.ERC20),
    "tokennfttx": partial(transfers, TokenStandard.ERC721),
    "token1155tx": partial(transfers, TokenStandard.ERC1155),
    "addresstokenbalance": partial(balances, collections=False),
    "addresstokennftbalance": partial(balances, collections=True),
}
OF_SUPPLY: Final = {"tokensupply": tokensupply}
ACTIONS: Final[dict[str, Callable[[Query], ActionReply]]] = {
    "tokeninfo": tokeninfo,
    "tokenholderlist": tokenholderlist,
    "tokenholdercount": tokenholdercount,
}
