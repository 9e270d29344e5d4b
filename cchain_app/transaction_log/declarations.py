"""Declarations of functions, events and errors in Solidity's syntax: names, parameters, selectors. Pure.

    transfer(address to, uint256 value)
    Transfer(address indexed from, address indexed to, uint256 value)
    aggregate((address target, bytes callData)[] calls)

Types are canonical (`uint256`, never `uint`), and a tuple is written as its members in parentheses.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Final, NamedTuple, Self

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
    for place, character in enumerate(text + ","):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            part = text[start:place].strip()
            if not part:
                raise MalformedDeclaration(text)
            yield part
            start = place + 1
    if depth:
        raise MalformedDeclaration(text)
