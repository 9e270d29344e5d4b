"""Sentences about the effect of transactions, with accounts and amounts."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from explorer_app.names.decoding import DecodedCall
from explorer_app.selectors.tokens import TokenRow
from explorer_app.tokens.events import TokenStandard
from primitives.counting import counted
from primitives.evm import ZERO_ADDRESS, Address

_UNLIMITED: Final = 2**255
"""Smallest allowance that counts as unlimited."""

_APPROVE: Final = "approve(address,uint256)"
_APPROVE_ALL: Final = "setApprovalForAll(address,bool)"
_TRANSFER: Final = "transfer(address,uint256)"
_TRANSFER_FROM: Final = "transferFrom(address,address,uint256)"
_MINT: Final = "mint(address,uint256)"
_BURN: Final = "burn(uint256)"
_NFT_TRANSFERS: Final = frozenset(
    {
        _TRANSFER_FROM,
        "safeTransferFrom(address,address,uint256)",
        "safeTransferFrom(address,address,uint256,bytes)",
    }
)
_TRANSFER_SOME: Final = "safeTransferFrom(address,address,uint256,uint256,bytes)"


class TransactionOutcome(StrEnum):
    """Whether a transaction has had an effect."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    PENDING = "pending"


class Phrase(NamedTuple):
    """A part of a sentence: a text, an account, an amount of the coin, or a token with an amount or ID."""

    text: str = ""
    is_name: bool = False
    """Whether the text is the name of a function."""
    account: Address | None = None
    wei: int | None = None
    token: TokenRow | None = None
    amount: int | None = None
    """Of the token, in its smallest units."""
    token_id: int | None = None


class SummarizedTx(NamedTuple):
    """The parts of a transaction that its sentence mentions."""

    sender: Address
    to: Address | None
    value: int
    """In wei."""
    data_size: int
    """Bytes of the input."""
    outcome: TransactionOutcome
    created: Address | None = None
    call: DecodedCall | None = None
    """The called function, if it is known."""
    message: str = ""
    """The input, if it is a text."""


def summary(tx: SummarizedTx, tokens: Mapping[Address, TokenRow]) -> list[Phrase]:
    """Return a sentence about a transaction.

    Args:
        tx: The transaction.
        tokens: Known tokens by address, among them the called contract if it is one.
    """
    return [Phrase(account=tx.sender), *_predicate(tx, tokens)]


def _predicate(tx: SummarizedTx, tokens: Mapping[Address, TokenRow]) -> Iterator[Phrase]:
    if tx.to is None:
        yield _verb(tx, "deployed", "deploy")
        yield Phrase(account=tx.created) if tx.created else Phrase("a contract")
        yield from _with_value(tx)
        return
    token = tokens.get(tx.to)
    if token is not None and tx.call is not None and not tx.value:
        phrases = list(_of_token(tx, token, tx.call))
        if phrases:
            yield from phrases
            return
    if tx.call is not None:
        yield from (_verb(tx, "called", "call"), Phrase(tx.call.name, is_name=True), Phrase("on"))
        yield Phrase(account=tx.to)
        yield from _with_value(tx)
    elif tx.data_size:
        yield _verb(tx, "sent", "send")
        size = counted(tx.data_size, "byte")
        yield Phrase("a message to" if tx.message else f"{size} to")
        yield Phrase(account=tx.to)
        yield from _with_value(tx)
    else:
        yield from (_verb(tx, "sent", "send"), Phrase(wei=tx.value), Phrase("to"))
        yield Phrase(account=tx.to)


def _with_value(tx: SummarizedTx) -> Iterator[Phrase]:
    if tx.value:
        yield from (Phrase("with"), Phrase(wei=tx.value))


def _verb(tx: SummarizedTx, past: str, infinitive: str) -> Phrase:
    prefix = {TransactionOutcome.FAILED: "tried to", TransactionOutcome.PENDING: "wants to"}.get(
        tx.outcome
    )
    return Phrase(past if prefix is None else f"{prefix} {infinitive}")


def _of_token(tx: SummarizedTx, token: TokenRow, call: DecodedCall) -> Iterator[Phrase]:
    """Yield the phrases about a call of a standard function of a token; none for other functions."""
    signature, values = call.signature, [str(argument.value) for argument in call.arguments]
    if token.kind == TokenStandard.ERC20:
        if signature == _TRANSFER:
            yield from _moved(tx, tx.sender, values[0], Phrase(token=token, amount=int(values[1])))
        elif signature == _TRANSFER_FROM:
            amount = Phrase(token=token, amount=int(values[2]))
            yield from _moved(tx, _address(values[0]), values[1], amount)
        elif signature == _APPROVE:
            yield from _approved(tx, token, values[0], int(values[1]))
        elif signature == _MINT:
            yield from (_verb(tx, "minted", "mint"), Phrase(token=token, amount=int(values[1])))
            yield from (Phrase("for"), Phrase(account=_address(values[0])))
        elif signature == _BURN:
            yield from (_verb(tx, "burned", "burn"), Phrase(token=token, amount=int(values[0])))
    elif signature == _APPROVE_ALL:
        yield from _approved_all(tx, token, values[0], is_approved=values[1] == "true")
    elif token.kind == TokenStandard.ERC1155 and signature == _TRANSFER_SOME:
        item = Phrase(token=token, amount=int(values[3]), token_id=int(values[2]))
        yield from _moved(tx, _address(values[0]), values[1], item)
    elif token.kind == TokenStandard.ERC721 and signature in _NFT_TRANSFERS:
        item = Phrase(token=token, token_id=int(values[2]))
        yield from _moved(tx, _address(values[0]), values[1], item)
    elif token.kind == TokenStandard.ERC721 and signature == _APPROVE:
        item, spender = Phrase(token=token, token_id=int(values[1])), _address(values[0])
        if spender == ZERO_ADDRESS:
            yield from (_verb(tx, "revoked", "revoke"), Phrase("the approval of"), item)
        else:
            yield from (_verb(tx, "approved", "approve"), Phrase(account=spender))
            yield from (Phrase("to transfer"), item)


def _moved(tx: SummarizedTx, owner: Address, to: str, thing: Phrase) -> Iterator[Phrase]:
    if owner == tx.sender:
        yield from (_verb(tx, "sent", "send"), thing)
    else:
        yield from (_verb(tx, "moved", "move"), thing, Phrase("from"), Phrase(account=owner))
    yield from (Phrase("to"), Phrase(account=_address(to)))


def _approved(tx: SummarizedTx, token: TokenRow, spender: str, amount: int) -> Iterator[Phrase]:
    account = Phrase(account=_address(spender))
    if not amount:
        yield from (_verb(tx, "revoked", "revoke"), Phrase("the allowance of"), account)
        yield from (Phrase("for"), Phrase(token=token))
        return
    yield from (_verb(tx, "approved", "approve"), account, Phrase("to spend"))
    if amount >= _UNLIMITED:
        yield from (Phrase("any amount of"), Phrase(token=token))
    else:
        yield Phrase(token=token, amount=amount)


def _approved_all(
    tx: SummarizedTx, token: TokenRow, operator: str, *, is_approved: bool
) -> Iterator[Phrase]:
    account = Phrase(account=_address(operator))
    if is_approved:
        yield from (_verb(tx, "approved", "approve"), account, Phrase("to transfer all"))
    else:
        yield from (_verb(tx, "revoked", "revoke"), Phrase("the approval of"), account)
        yield Phrase("for all")
    yield Phrase(token=token)


def _address(text: str) -> Address:
    return Address(bytes.fromhex(text.removeprefix("0x")))
