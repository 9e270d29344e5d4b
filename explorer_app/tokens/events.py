"""Transfers of tokens, read from logs: ERC-20, ERC-721, ERC-1155, ERC-2309, and wrapped coins.

Contracts can emit any log, so a log that does not have the format of its event is ignored.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from primitives.evm import ZERO_ADDRESS, Address
from primitives.hashing import keccak256

MAX_ROWS: Final = 1000
"""Limit of transfers in a batch; a larger batch is ignored."""

MAX_OWNERS: Final = 5000
"""Limit of tokens of a range (ERC-2309) whose owner is recorded; for a larger range the first ones."""

GAS_OF_AN_OWNER: Final = 100
"""Gas of a transaction per owner that its ranges may record: a log costs 2,000 gas and may claim any number."""

MAX_DATA: Final = 32 * (2 * MAX_ROWS + 4)
"""Limit of bytes of a log's data that are read: those of the largest batch."""

_WORD: Final = 32
_UNINDEXED: Final = 3 * _WORD


class TokenStandard(IntEnum):
    """The standard of a token, by its number."""

    ERC20 = 20
    ERC721 = 721
    ERC1155 = 1155


TRANSFER: Final = keccak256(b"Transfer(address,address,uint256)")
TRANSFER_SINGLE: Final = keccak256(b"TransferSingle(address,address,address,uint256,uint256)")
TRANSFER_BATCH: Final = keccak256(b"TransferBatch(address,address,address,uint256[],uint256[])")
DEPOSIT: Final = keccak256(b"Deposit(address,uint256)")
WITHDRAWAL: Final = keccak256(b"Withdrawal(address,uint256)")
CONSECUTIVE_TRANSFER: Final = keccak256(b"ConsecutiveTransfer(uint256,uint256,address,address)")

TOPICS: Final = (
    TRANSFER, TRANSFER_SINGLE, TRANSFER_BATCH, DEPOSIT, WITHDRAWAL, CONSECUTIVE_TRANSFER,
)  # fmt: skip
"""The first topics of all logs that are read."""


class Transfer(NamedTuple):
    """A movement of a token, or of an amount of it, from one holder to another."""

    kind: TokenStandard
    sender: Address
    """The zero address if tokens were minted."""
    to: Address
    """The zero address if tokens were burned."""
    value: int
    """In the token's smallest units; for ERC-721 the number of tokens."""
    token_id: int | None = None
    """None for ERC-20; for a range its first token ID."""
    last_token_id: int | None = None
    """The last token ID of a range; None for a single token."""
    noted: int = MAX_OWNERS
    """Limit of tokens of a range, from the first one, whose owner is recorded."""

    @property
    def is_range(self) -> bool:
        """Whether it moves a range of tokens (ERC-2309)."""
        return self.last_token_id is not None

    @property
    def burns_range(self) -> bool:
        """Whether it burns a range of tokens."""
        return self.is_range and self.to == ZERO_ADDRESS

    @property
    def is_supply_change(self) -> bool:
        """Whether it mints or burns."""
        return ZERO_ADDRESS in {self.sender, self.to}

    @property
    def token_ids(self) -> range:
        """The ERC-721 tokens whose owner it changes, limited to those that are recorded."""
        if self.kind is not TokenStandard.ERC721 or self.token_id is None:
            return range(0)
        last = self.token_id if self.last_token_id is None else self.last_token_id
        return range(self.token_id, min(last + 1, self.token_id + self.noted))


class BalanceChange(NamedTuple):
    """A change of a holder's balance by a transfer."""

    holder: Address
    kind: TokenStandard
    token_id: int | None
    """For ERC-1155, whose balances are per token ID; None for other standards."""
    amount: int
    """The amount added; negative if it is subtracted."""


def changes(transfer: Transfer) -> Iterator[BalanceChange]:
    """Yield the balance changes of a transfer. The zero address has no balance."""
    token_id = transfer.token_id if transfer.kind is TokenStandard.ERC1155 else None
    if transfer.sender != ZERO_ADDRESS:
        yield BalanceChange(transfer.sender, transfer.kind, token_id, -transfer.value)
    if transfer.to != ZERO_ADDRESS:
        yield BalanceChange(transfer.to, transfer.kind, token_id, transfer.value)


def is_wrapping(topics: Sequence[bytes]) -> bool:
    """Return whether a log is of a wrapped or unwrapped coin; ignored if there is also a Transfer log for it."""
    return len(topics) == 2 and topics[0] in {DEPOSIT, WITHDRAWAL}


def is_range(topics: Sequence[bytes]) -> bool:
    """Return whether a log may be of a range of tokens (ERC-2309)."""
    return len(topics) == 4 and topics[0] == CONSECUTIVE_TRANSFER


def is_unindexed(topics: Sequence[bytes]) -> bool:
    """Return whether a log is a Transfer event without indexed arguments; the contract's standard decides its meaning."""
    return len(topics) == 1 and topics[0] == TRANSFER


def is_of_erc20(topics: Sequence[bytes]) -> bool:
    """Return whether a log is a Transfer event as ERC-20 requires it."""
    return len(topics) == 3 and topics[0] == TRANSFER


def read_transfers(
    topics: Sequence[bytes], data: bytes, *, is_collection: bool = False
) -> list[Transfer]:
    """Return the transfers in a log; empty for other logs.

    Unspecified: an amount of fewer than 32 bytes is read as the number that its bytes form.

    Args:
        topics: The log's topics.
        data: Its data, up to `MAX_DATA` bytes.
        is_collection: Whether its contract is an ERC-721, for events whose number may be a token ID or an amount.
    """
    if not topics:
        return []
    first, *others = topics
    read = _READERS.get((bytes(first), len(topics)))
    if read is not None:
        return read(others, data)
    if is_unindexed(topics) and len(data) >= _UNINDEXED:
        sender, to = _address(data[:_WORD]), _address(data[_WORD : 2 * _WORD])
        number = _number(data[2 * _WORD : _UNINDEXED])
        if is_collection:
            return [Transfer(TokenStandard.ERC721, sender, to, 1, number)]
        return [Transfer(TokenStandard.ERC20, sender, to, number)]
    return []


def _erc20(topics: Sequence[bytes], data: bytes) -> list[Transfer]:
    if not data:
        return []
    sender, to = map(_address, topics)
    return [Transfer(TokenStandard.ERC20, sender, to, _number(data[:_WORD]))]


def _erc721(topics: Sequence[bytes], _data: bytes) -> list[Transfer]:
    sender, to, token_id = topics
    return [Transfer(TokenStandard.ERC721, _address(sender), _address(to), 1, _number(token_id))]


def _single(topics: Sequence[bytes], data: bytes) -> list[Transfer]:
    if len(data) < 2 * _WORD:
        return []
    _, sender, to = map(_address, topics)
    token_id, value = _number(data[:_WORD]), _number(data[_WORD : 2 * _WORD])
    return [Transfer(TokenStandard.ERC1155, sender, to, value, token_id)]


def _batch(topics: Sequence[bytes], data: bytes) -> list[Transfer]:
    _, sender, to = map(_address, topics)
    token_ids, values = _array(data, 0), _array(data, 1)
    if token_ids is None or values is None or len(token_ids) != len(values):
        return []
    pairs = zip(token_ids, values, strict=True)
    return [
        Transfer(TokenStandard.ERC1155, sender, to, value, token_id) for token_id, value in pairs
    ]


def _deposit(topics: Sequence[bytes], data: bytes) -> list[Transfer]:
    return _erc20([bytes(_WORD), topics[0]], data)


def _withdrawal(topics: Sequence[bytes], data: bytes) -> list[Transfer]:
    return _erc20([topics[0], bytes(_WORD)], data)


def _consecutive(topics: Sequence[bytes], data: bytes) -> list[Transfer]:
    if len(data) < _WORD:
        return []
    first, last = _number(topics[0]), _number(data[:_WORD])
    if last < first:
        return []
    sender, to = _address(topics[1]), _address(topics[2])
    return [
        Transfer(TokenStandard.ERC721, sender, to, min(last - first + 1, 2**256 - 1), first, last)
    ]


_READERS: Final[dict[tuple[bytes, int], Callable[[Sequence[bytes], bytes], list[Transfer]]]] = {
    (TRANSFER, 3): _erc20,
    (TRANSFER, 4): _erc721,
    (TRANSFER_SINGLE, 4): _single,
    (TRANSFER_BATCH, 4): _batch,
    (DEPOSIT, 2): _deposit,
    (WITHDRAWAL, 2): _withdrawal,
    (CONSECUTIVE_TRANSFER, 4): _consecutive,
}


def _array(data: bytes, word_index: int) -> list[int] | None:
    """Return the numbers of the array that a word of the data points to; None if it is not an array or is too long."""
    start = _number(data[word_index * _WORD : (word_index + 1) * _WORD])
    if start + _WORD > len(data):
        return None
    count = _number(data[start : start + _WORD])
    first = start + _WORD
    if count > MAX_ROWS or first + count * _WORD > len(data):
        return None
    return [_number(data[at : at + _WORD]) for at in range(first, first + count * _WORD, _WORD)]


def _number(word: bytes) -> int:
    return int.from_bytes(word, "big")


def _address(word: bytes) -> Address:
    return Address(bytes(word[-20:]))
