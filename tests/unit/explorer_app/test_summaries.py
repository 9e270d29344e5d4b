"""Sentences about transactions: the coin, tokens of all kinds, creations and other calls."""

from typing import Any

import pytest

from cchain_app.transaction_log.declarations import Declaration
from explorer_app.names.decoding import decode_call
from explorer_app.selectors.tokens import TokenRow
from explorer_app.tokens.events import TokenStandard
from explorer_app.views.summaries import Phrase, SummarizedTx, TransactionOutcome, summary
from primitives.evm import ZERO_ADDRESS, Address
from tests.builders.bytecode import words

SENDER, OTHER, THIRD, TOKEN = (Address(bytes([number]) * 20) for number in (1, 2, 3, 4))
NAMES = {SENDER: "sender", OTHER: "other", THIRD: "third", TOKEN: "contract"}


def said(phrases: list[Phrase]) -> str:
    """Return a sentence as text: amounts of the token in its smallest units, IDs with #."""
    return " ".join(_said(phrase) for phrase in phrases)


def _said(phrase: Phrase) -> str:
    if phrase.account is not None:
        return NAMES[phrase.account]
    if phrase.wei is not None:
        return f"{phrase.wei} wei"
    if phrase.token is not None:
        amount = "" if phrase.amount is None else f"{phrase.amount} "
        return f"{amount}TKN{'' if phrase.token_id is None else f' #{phrase.token_id}'}"
    return phrase.text


def sentence_of(
    signature: str,
    *values: int | bytes,
    kind: TokenStandard | None = TokenStandard.ERC20,
    outcome: TransactionOutcome = TransactionOutcome.SUCCEEDED,
    value: int = 0,
) -> str:
    """Return the sentence about a call of a token, or without a kind of another contract."""
    declaration = Declaration.parse(signature)
    data = declaration.selector + words(*values)
    call = decode_call(declaration, data, guess=False)
    tx = SummarizedTx(SENDER, TOKEN, value, len(data), outcome, TOKEN, call)
    return said(summary(tx, {} if kind is None else {TOKEN: TokenRow(address=TOKEN, kind=kind)}))


@pytest.mark.parametrize(
    ("signature", "values", "text"),
    [
        ("transfer(address,uint256)", (OTHER, 301), "sender sent 301 TKN to other"),
        ("transferFrom(address,address,uint256)", (SENDER, OTHER, 5), "sender sent 5 TKN to other"),
        ("transferFrom(address,address,uint256)", (OTHER, THIRD, 5), "sender moved 5 TKN from other to third"),
        ("approve(address,uint256)", (OTHER, 7), "sender approved other to spend 7 TKN"),
        ("approve(address,uint256)", (OTHER, 2**256 - 1), "sender approved other to spend any amount of TKN"),
        ("approve(address,uint256)", (OTHER, 0), "sender revoked the allowance of other for TKN"),
        ("mint(address,uint256)", (OTHER, 9), "sender minted 9 TKN for other"),
        ("burn(uint256)", (9,), "sender burned 9 TKN"),
        ("pause()", (), "sender called pause on contract"),
    ],
)  # fmt: skip
def test_a_call_of_an_erc20(signature: str, values: tuple[int | bytes, ...], text: str) -> None:
    assert sentence_of(signature, *values) == text


@pytest.mark.parametrize(
    ("signature", "values", "text"),
    [
        ("transferFrom(address,address,uint256)", (SENDER, OTHER, 12), "sender sent TKN #12 to other"),
        ("safeTransferFrom(address,address,uint256)", (OTHER, THIRD, 1), "sender moved TKN #1 from other to third"),
        ("approve(address,uint256)", (OTHER, 12), "sender approved other to transfer TKN #12"),
        ("approve(address,uint256)", (ZERO_ADDRESS, 12), "sender revoked the approval of TKN #12"),
        ("setApprovalForAll(address,bool)", (OTHER, 1), "sender approved other to transfer all TKN"),
        ("setApprovalForAll(address,bool)", (OTHER, 0), "sender revoked the approval of other for all TKN"),
        ("transfer(address,uint256)", (OTHER, 1), "sender called transfer on contract"),
    ],
)  # fmt: skip
def test_a_call_of_an_erc721(signature: str, values: tuple[int | bytes, ...], text: str) -> None:
    assert sentence_of(signature, *values, kind=TokenStandard.ERC721) == text


def test_a_call_of_an_erc1155() -> None:
    signature = "safeTransferFrom(address,address,uint256,uint256,bytes)"
    values = (SENDER, OTHER, 8, 30, 160, 0)
    assert (
        sentence_of(signature, *values, kind=TokenStandard.ERC1155)
        == "sender sent 30 TKN #8 to other"
    )


def test_failed_and_pending_transactions_are_described_as_such() -> None:
    call = ("transfer(address,uint256)", OTHER, 5)
    assert (
        sentence_of(*call, outcome=TransactionOutcome.FAILED)
        == "sender tried to send 5 TKN to other"
    )
    assert (
        sentence_of(*call, outcome=TransactionOutcome.PENDING)
        == "sender wants to send 5 TKN to other"
    )


def test_a_call_of_another_contract_has_its_name_and_its_value() -> None:
    assert sentence_of("buy(uint256)", 3, kind=None) == "sender called buy on contract"
    assert (
        sentence_of("buy(uint256)", 3, kind=None, value=4)
        == "sender called buy on contract with 4 wei"
    )
    # A token's standard function is not all that the transaction does if it also moves coins.
    assert sentence_of("burn(uint256)", 3, value=4) == "sender called burn on contract with 4 wei"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"value": 5}, "sender sent 5 wei to other"),
        ({"data_size": 1}, "sender sent 1 byte to other"),
        ({"data_size": 2, "value": 1}, "sender sent 2 bytes to other with 1 wei"),
        ({"data_size": 2, "message": "hi"}, "sender sent a message to other"),
        ({"to": None, "created": TOKEN, "value": 1}, "sender deployed contract with 1 wei"),
        ({"to": None, "outcome": TransactionOutcome.FAILED}, "sender tried to deploy a contract"),
    ],
)
def test_a_transaction_that_calls_no_known_function(fields: dict[str, Any], text: str) -> None:
    parts = {
        "sender": SENDER, "to": OTHER, "value": 0, "data_size": 0, "outcome": TransactionOutcome.SUCCEEDED,
    }  # fmt: skip
    assert said(summary(SummarizedTx(**{**parts, **fields}), {})) == text
