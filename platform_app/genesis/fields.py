"""Reading of the fields of a genesis file. Their meaning is in `config`."""

from collections.abc import Mapping
from dataclasses import dataclass

from platform_app.genesis.errors import GenesisError, PlatformGenesisReason
from primitives.addresses import AddressError, parse_address
from primitives.cb58 import Cb58Error
from primitives.ids import IdError, NodeID, ShortID


@dataclass(frozen=True, slots=True)
class JsonField:
    """A value in a decoded JSON document. Errors name the place of the value.

    Every method raises GenesisError for a value of the wrong type and for a field that is absent or null.
    """

    value: object
    path: str = ""

    def field(self, name: str) -> "JsonField":
        """Return a field of an object."""
        found = self.optional(name)
        if found is None:
            raise GenesisError(PlatformGenesisReason.MISSING_FIELD, name=self._below(name))
        return found

    def optional(self, name: str) -> "JsonField | None":
        """Return a field of an object, or None if it is absent."""
        if not isinstance(self.value, Mapping):
            raise self.malformed("not an object")
        value = self.value.get(name)
        return None if value is None else JsonField(value, self._below(name))

    def items(self, name: str) -> "list[JsonField]":
        """Return the elements of a list field; an absent field counts as empty."""
        found = self.optional(name)
        if found is None:
            return []
        if not isinstance(found.value, list):
            raise found.malformed("not a list")
        return [
            JsonField(value, f"{found.path}[{index}]") for index, value in enumerate(found.value)
        ]

    def number(self, bits: int = 64) -> int:
        """Return a non-negative integer."""
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << bits:
            raise self.malformed(f"not a number of {bits} bits")
        return value

    def text(self) -> str:
        """Return a string."""
        if not isinstance(self.value, str):
            raise self.malformed("not a text")
        return self.value

    def bytes_of(self, size: int) -> bytes:
        """Return bytes of the given size, written in hexadecimal."""
        try:
            data = bytes.fromhex(self.text().removeprefix("0x"))
        except ValueError:
            data = b""
        if len(data) != size:
            raise self.malformed(f"not {size} bytes in hexadecimal")
        return data

    def address(self) -> ShortID:
        """Return an address of any chain and with any prefix."""
        try:
            return parse_address(self.text()).short_id
        except AddressError as error:
            raise self.malformed(str(error)) from None

    def node_id(self) -> NodeID:
        """Return a node ID."""
        try:
            return NodeID.parse(self.text())
        except (Cb58Error, IdError) as error:
            raise self.malformed(str(error)) from None

    def malformed(self, reason: str) -> GenesisError:
        """Return an error that names this place."""
        return GenesisError(PlatformGenesisReason.MALFORMED_FIELD, name=self.path, cause=reason)

    def _below(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name
