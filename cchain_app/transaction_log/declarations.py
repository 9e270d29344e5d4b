"""Declarations of functions, events and errors in Solidity's syntax: names, parameters, selectors. Pure.

    transfer(address to, uint256 value)
    Transfer(address indexed from, address indexed to, uint256 value)
    aggregate((address target, bytes callData)[] calls)

Types are canonical (`uint256`, never `uint`), and a tuple is written as its members in parentheses. `KnownSignatures`
names well-known functions and errors by their selectors, from the lists in `signatures/`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Final, NamedTuple, Self

from cchain_app.transaction_log.abi import SELECTOR_BYTES, decode, text_of
from cchain_app.transaction_log.errors import Undecodable
from primitives.evm import Address
from primitives.hashing import keccak256

_INDEXED: Final = "indexed"


class MalformedDeclaration(Exception):
    """A text that is not a declaration."""


class Parameter(NamedTuple):
    """A parameter, or a member of a tuple."""

    type: str
    """Canonical type; a tuple is written with its members' types: `(address,bytes)[]`."""
    name: str
    """Empty if the parameter has no name."""
    members: tuple["Parameter", ...] = ()
    """Members of a tuple, or of each element of an array of tuples."""
    indexed: bool = False


@dataclass(frozen=True)
class Declaration:
    """A function, an event or an error."""

    name: str
    parameters: tuple[Parameter, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a declaration.

        Raises:
            MalformedDeclaration: The text is not a declaration.
        """
        name, opened, rest = text.strip().partition("(")
        if not opened or not rest.endswith(")") or not name.isidentifier():
            raise MalformedDeclaration(text)
        return cls(name, tuple(map(_parameter, _split(rest[:-1]))))

    @property
    def types(self) -> tuple[str, ...]:
        """The parameters' types."""
        return tuple(parameter.type for parameter in self.parameters)

    @cached_property
    def signature(self) -> str:
        """The text that is hashed: `transfer(address,uint256)`."""
        return f"{self.name}({','.join(self.types)})"

    @cached_property
    def topic(self) -> bytes:
        """The hash of the signature, which is an event's first topic."""
        return bytes(keccak256(self.signature.encode()))

    @property
    def selector(self) -> bytes:
        """Its first four bytes, with which a function's input and an error's data begin."""
        return self.topic[:4]


def listed(name: str) -> list[Declaration]:
    """Return a list that comes with the node: `functions`, `events` or `errors`."""
    text = (files(__package__) / "signatures" / f"{name}.txt").read_text()
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return [Declaration.parse(line) for line in lines]


def _parameter(text: str) -> Parameter:
    """Parse a parameter: a type, optionally `indexed`, optionally a name."""
    if not text.startswith("("):
        type_, *words = text.split()
        return Parameter(type_, _name(words), indexed=_INDEXED in words)
    inside, _, rest = text[1:].rpartition(")")
    members = tuple(map(_parameter, _split(inside)))
    array, _, words_text = rest.partition(" ")
    words = words_text.split()
    type_ = f"({','.join(member.type for member in members)}){array}"
    return Parameter(type_, _name(words), members, indexed=_INDEXED in words)


def _name(words: list[str]) -> str:
    """Return the name of a parameter from the words after its type."""
    left = [word for word in words if word != _INDEXED]
    if len(left) > 1:
        raise MalformedDeclaration(" ".join(words))
    return left[0] if left else ""


def _split(text: str) -> Iterator[str]:
    """Yield the parts that commas separate, ignoring commas in parentheses.

    Raises:
        MalformedDeclaration: The parentheses do not close, or a part is empty.
    """
    depth, start = 0, 0
    if not text.strip():
        return
    for index, character in enumerate(text + ","):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            part = text[start:index].strip()
            if not part:
                raise MalformedDeclaration(text)
            yield part
            start = index + 1
    if depth:
        raise MalformedDeclaration(text)


_MAX_SHOWN: Final = 4096
"""Bytes of an error's arguments that are decoded at most."""


class KnownSignatures:
    """Signatures by selector.

    Args:
        functions: Signatures of known functions.
        errors: Signatures of known errors.
        declared: Returns the signatures that a contract declares (its verified ABI); None if they are unknown.
    """

    def __init__(
        self,
        functions: Iterable[Declaration],
        errors: Iterable[Declaration],
        declared: "Declared | None" = None,
    ) -> None:
        self.functions = {function.selector: function.signature for function in functions}
        """Signatures of the known functions by selector."""
        self._errors = {error.selector: error for error in errors}
        self._declared = declared

    @classmethod
    def load(cls, declared: "Declared | None" = None) -> Self:
        """Read the lists that come with the node."""
        return cls(listed("functions"), listed("errors"), declared)

    def method(self, call_data: bytes, contract: Address | None = None) -> str | None:
        """Return the signature of the called function, or the selector of an unknown one; None without a selector.

        Args:
            call_data: The input of the call.
            contract: The called contract, which may declare a function that is not well known.
        """
        selector = call_data[:SELECTOR_BYTES]
        if len(selector) < SELECTOR_BYTES:
            return None
        found = self.functions.get(selector)
        if found is None and (own := self._of(contract)) is not None:
            found = own.functions.get(selector)
        return found or "0x" + selector.hex()

    def error(self, output: bytes, contracts: Iterable[Address] = ()) -> str | None:
        """Return an error with its arguments; None for an unknown error or a malformed encoding.

        Args:
            output: The revert data.
            contracts: The contracts that reverted with it; what one of them declares comes before well-known errors.
        """
        if len(output) > _MAX_SHOWN:
            return None
        for signatures in (*map(self._of, contracts), self):
            if signatures is not None and (shown := signatures.decoded(output)) is not None:
                return shown
        return None

    def _of(self, contract: Address | None) -> "KnownSignatures | None":
        return None if contract is None or self._declared is None else self._declared(contract)

    def decoded(self, output: bytes) -> str | None:
        """Return a known error with its arguments, without those that contracts declare; None as `error`."""
        declaration = self._errors.get(output[:SELECTOR_BYTES])
        if declaration is None:
            return None
        try:
            values = decode(declaration.types, output[SELECTOR_BYTES:])
        except Undecodable:
            return None
        return f"{declaration.name}({', '.join(map(text_of, values))})"


Declared = Callable[[Address], KnownSignatures | None]
"""Returns the signatures that a contract declares; None if they are unknown."""
