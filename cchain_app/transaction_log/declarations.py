"""Declarations of functions, events and errors in Solidity's syntax: names, parameters, selectors. Pure.

    transfer(address to, uint256 value)
    Transfer(address indexed from, address indexed to, uint256 value)
    aggregate((address target, bytes callData)[] calls)

Types are canonical (`uint256`, never `uint`), and a tuple is written as its members in parentheses. `KnownSignatures`
names well-known functions and errors by their selectors, from the lists in `signatures/`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Final, NamedTuple, Self

from cchain_app.transaction_log.abi import SELECTOR_BYTES, Value, decode, split, text_of
from cchain_app.transaction_log.errors import MalformedDeclaration, Undecodable
from primitives.evm import Address
from primitives.hashing import keccak256

_INDEXED: Final = "indexed"
_HASHED: Final = frozenset({"string", "bytes"})


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
        return cls(name, tuple(map(_parameter, split(rest[:-1]))))

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
    members = tuple(map(_parameter, split(inside)))
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


_MAX_SHOWN: Final = 4096
"""Bytes of arguments that are decoded at most."""

_MAX_HEX: Final = 256
"""Bytes that are shown in hexadecimal at most."""


def cut_hex(data: bytes) -> str:
    """Return data in hexadecimal, shortened to the length that is shown."""
    return f"0x{data[:_MAX_HEX].hex()}{'…' if len(data) > _MAX_HEX else ''}"


class KnownSignatures:
    """Signatures by selector.

    Args:
        functions: Signatures of known functions.
        errors: Signatures of known errors.
        events: Signatures of known events.
        declared: Returns the signatures that a contract declares (its verified ABI); None if they are unknown.
    """

    def __init__(
        self,
        functions: Iterable[Declaration],
        errors: Iterable[Declaration],
        events: Iterable[Declaration] = (),
        declared: "Declared | None" = None,
    ) -> None:
        self.functions = {function.selector: function.signature for function in functions}
        """Signatures of the known functions by selector."""
        self._errors = {error.selector: error for error in errors}
        self.events = {(event.topic, _indexed(event)): event for event in events}
        """The known events by topic and number of indexed parameters."""
        self._declared = declared

    @classmethod
    def load(cls, declared: "Declared | None" = None) -> Self:
        """Read the lists that come with the node."""
        return cls(listed("functions"), listed("errors"), listed("events"), declared)

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

    def call(self, call_data: bytes, contract: Address | None = None) -> tuple[str, str]:
        """Return the name of the called function, or its selector, and its arguments as text.

        Unspecified: input without a selector calls `fallback`, as Foundry names it.
        """
        signature = self.method(call_data, contract)
        if signature is None:
            return "fallback", cut_hex(call_data) if call_data else ""
        arguments = call_data[SELECTOR_BYTES:]
        name, opened, _ = signature.partition("(")
        if opened and len(arguments) <= _MAX_SHOWN:
            try:
                values = decode(Declaration.parse(signature).types, arguments)
            except (Undecodable, MalformedDeclaration):
                pass
            else:
                return name, ", ".join(map(text_of, values))
        return name, cut_hex(arguments) if arguments else ""

    def event(self, topics: Sequence[bytes], data: bytes, contract: Address | None = None) -> str:
        """Return an event with its arguments, or its topics and data if it is unknown or malformed."""
        if topics and len(data) <= _MAX_SHOWN:
            key = bytes(topics[0]), len(topics) - 1
            for signatures in (self._of(contract), self):
                event = None if signatures is None else signatures.events.get(key)
                try:
                    if event is not None:
                        return f"{event.name}({', '.join(_event_arguments(event, topics, data))})"
                except Undecodable:
                    continue
        parts = [f"topic {index}: {cut_hex(topic)}" for index, topic in enumerate(topics)]
        return ", ".join([*parts, f"data: {cut_hex(data)}"])

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


def _indexed(event: Declaration) -> int:
    """Return the number of an event's indexed parameters."""
    return sum(parameter.indexed for parameter in event.parameters)


def _event_arguments(event: Declaration, topics: Sequence[bytes], data: bytes) -> Iterator[str]:
    """Yield an event's arguments with their names; of an indexed value without a fixed size there is only the hash."""
    plain = [parameter.type for parameter in event.parameters if not parameter.indexed]
    values, hashed = iter(decode(plain, data)), iter(topics[1:])
    for parameter in event.parameters:
        value: Value
        if not parameter.indexed:
            value = next(values)
        else:
            topic = next(hashed)
            is_hash = parameter.type in _HASHED or parameter.type.endswith((")", "]"))
            value = cut_hex(topic) if is_hash else decode([parameter.type], topic)[0]
        name = f"{parameter.name}: " if parameter.name else ""
        yield f"{name}{text_of(value)}"


Declared = Callable[[Address], KnownSignatures | None]
"""Returns the signatures that a contract declares; None if they are unknown."""
