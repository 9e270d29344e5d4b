"""Contracts that return and emit whatever a test wants: tokens of all kinds, honest and dishonest."""

from collections.abc import Mapping

from explorer_app.tokens import questions
from primitives.evm import Address
from primitives.hashing import keccak256
from tests.builders.bytecode import assemble, deploy_code, words

_EMIT = [keccak256(b"emit%d" % count)[:4] for count in range(5)]
_SET = keccak256(b"set(uint256,uint256)")[:4]

REVERTS = assemble("0 0 REVERT")
"""Makes a puppet revert instead of returning a value."""

ENDLESS = bytes.fromhex("5b60035803 56")
"""Jumps back to its start (PC less 3) until all gas is used up."""

HELD = assemble("4 CALLDATALOAD SLOAD 0 MSTORE 32 0 RETURN")
"""Returns the result of balanceOf(holder): the slot at the holder's address."""

HELD_OF_ID = assemble("4 CALLDATALOAD 36 CALLDATALOAD ADD SLOAD 0 MSTORE 32 0 RETURN")
"""Returns the result of balanceOf(holder, id): the slot at the sum of both."""


def answering(data: bytes) -> bytes:
    """Return code that returns these bytes."""
    code = b""
    for at in range(0, len(data), 32):
        code += b"\x7f" + data[at : at + 32].ljust(32, b"\0") + assemble(at, "MSTORE")
    return code + assemble(len(data), 0, "RETURN")


def answering_many(size: int) -> bytes:
    """Return code that returns `size` zero bytes."""
    return assemble(size, 0, "RETURN")


def string(text: bytes) -> bytes:
    """Return a string in ABI encoding."""
    return words(32, len(text)) + text + bytes(-len(text) % 32)


def puppet(answers: Mapping[bytes, bytes]) -> bytes:
    """Return the runtime code of a contract that dispatches to code by selector.

    The contract can also emit a log with given topics and data, and set a slot.

    Args:
        answers: Code by selector.
    """
    branches = {
        **answers,
        **{selector: _emitting(count) for count, selector in enumerate(_EMIT)},
        _SET: assemble("36 CALLDATALOAD 4 CALLDATALOAD SSTORE STOP"),
    }
    head_size = 6 + 11 * len(branches) + 5
    head, body = assemble("0 CALLDATALOAD 224 SHR"), b""
    for selector, code in branches.items():
        place = head_size + len(body)
        head += b"\x80\x63" + selector + b"\x14\x61" + place.to_bytes(2, "big") + b"\x57"
        body += b"\x5b" + code
    head += assemble("0 0 REVERT")
    assert len(head) == head_size, (len(head), head_size)
    return head + body


def _emitting(count: int) -> bytes:
    """Return code that emits a log from the call data: `count` topics, then the data."""
    size = 4 + 32 * count
    code = assemble(size, "CALLDATASIZE SUB", size, 0, "CALLDATACOPY")
    for topic in reversed(range(count)):
        code += assemble(4 + 32 * topic, "CALLDATALOAD")
    return code + assemble(size, "CALLDATASIZE SUB", 0) + bytes([0xA0 + count, 0x00])


def emit(topics: tuple[int | bytes, ...], data: bytes = b"") -> bytes:
    """Return the call data with which a puppet emits a log."""
    return _EMIT[len(topics)] + words(*topics) + data


def put(slot: int | bytes, value: int) -> bytes:
    """Return the call data with which a puppet sets a slot."""
    return _SET + words(slot, value)


def of_erc20(name: bytes = b"Coin", symbol: bytes = b"CN", **others: bytes) -> dict[bytes, bytes]:
    """Return the code by selector of an ERC-20 with 6 decimals; `others` replaces results."""
    return {
        questions.NAME: answering(string(name)),
        questions.SYMBOL: answering(string(symbol)),
        questions.DECIMALS: answering(words(6)),
        questions.TOTAL_SUPPLY: answering(words(10**12)),
        questions.balance(Address(bytes(20)))[:4]: HELD,
        **{getattr(questions, one): code for one, code in others.items()},
    }


def with_interface(interface: bytes) -> bytes:
    """Return code for supportsInterface of a contract that supports ERC-165 and another interface."""
    of_two = assemble("4 CALLDATALOAD 224 SHR DUP1", int.from_bytes(questions.ERC165), "EQ SWAP1")
    return of_two + assemble(int.from_bytes(interface), "EQ ADD 0 MSTORE 32 0 RETURN")


SUPPORTS = questions.supports(b"")[:4]


def of_erc721(name: bytes = b"Cats", symbol: bytes = b"CAT") -> dict[bytes, bytes]:
    """Return the code by selector of an ERC-721; all its tokens have the same token URI."""
    return {
        SUPPORTS: with_interface(questions.ERC721),
        questions.NAME: answering(string(name)),
        questions.SYMBOL: answering(string(symbol)),
        questions.balance(Address(bytes(20)))[:4]: HELD,
        questions.uri(0, is_collection=True)[:4]: answering(string(b"ipfs://cat")),
    }


def of_erc1155() -> dict[bytes, bytes]:
    """Return the code by selector of an ERC-1155, which has no name."""
    return {
        SUPPORTS: with_interface(questions.ERC1155),
        questions.balance(Address(bytes(20)), 0)[:4]: HELD_OF_ID,
        questions.uri(0, is_collection=False)[:4]: answering(string(b"https://x.example/{id}")),
    }


def deployed(answers: Mapping[bytes, bytes]) -> bytes:
    """Return the init code of a puppet."""
    return deploy_code(puppet(answers))
