"""Events and functions of the common token standards, whose names the admin shows."""

from typing import NamedTuple

from chaindb.fields import HexBytes
from primitives.hashing import keccak256


class FunctionSignature(NamedTuple):
    """A name and its parameters' types, as Solidity writes them."""

    name: str
    parameters: tuple[str, ...]

    @property
    def text(self) -> str:
        """The canonical text, whose hash is the event's topic 0 or begins with the function's selector."""
        return f"{self.name}({','.join(self.parameters)})"


def _read(text: str) -> FunctionSignature:
    name, _, parameters = text.removesuffix(")").partition("(")
    return FunctionSignature(name, tuple(part for part in parameters.split(",") if part))


_EVENTS = (
    "Transfer(address,address,uint256)",
    "Approval(address,address,uint256)",
    "ApprovalForAll(address,address,bool)",
    "TransferSingle(address,address,address,uint256,uint256)",
    "TransferBatch(address,address,address,uint256[],uint256[])",
    "Deposit(address,uint256)",
    "Withdrawal(address,uint256)",
    "OwnershipTransferred(address,address)",
)

_FUNCTIONS = (
    "transfer(address,uint256)",
    "transferFrom(address,address,uint256)",
    "approve(address,uint256)",
    "setApprovalForAll(address,bool)",
    "safeTransferFrom(address,address,uint256)",
    "mint(address,uint256)",
    "burn(uint256)",
    "deposit()",
    "withdraw(uint256)",
)

EVENTS = {keccak256(text.encode()): _read(text) for text in _EVENTS}
"""Events by topic 0."""

FUNCTIONS = {keccak256(text.encode())[:4]: _read(text) for text in _FUNCTIONS}
"""Functions by selector."""


def event_of(topic0: bytes | None) -> FunctionSignature | None:
    """Return the event with a topic 0, None if it is unknown."""
    return None if topic0 is None else EVENTS.get(topic0)  # type: ignore[call-overload]  # a hash is bytes


def function_of(data: bytes) -> FunctionSignature | None:
    """Return the function that input data calls, None if it is unknown."""
    return FUNCTIONS.get(data[:4])


def address_in(word: bytes) -> HexBytes | None:
    """Return the address in a topic of type address, None if the topic does not hold an address."""
    return None if any(word[:12]) else HexBytes(word[12:])
