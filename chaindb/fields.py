"""Model fields for chain values, exact on PostgreSQL and on SQLite.

Bytes are binary in the database and come back as `HexBytes`, whose text form is 0x-prefixed hex.
Identifiers of the P-Chain come back as `primitives.ids`, whose text form is cb58. Integers beyond
63 bits are numeric on PostgreSQL and zero-padded decimal text on SQLite (whose numbers are 64-bit
or floating-point), so that both compare and sort them correctly. Columns that no query compares are
not padded: a column of 256 bits then takes as many bytes as its value has digits instead of 78.
"""

from typing import Any, ClassVar

from django.core.exceptions import FieldError, ValidationError
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from typing_extensions import override

from primitives.cb58 import Cb58Error
from primitives.ids import ID, FixedId, IdError, NodeID, ShortID


class HexBytes(bytes):
    """Bytes whose text form is 0x-prefixed hex."""

    @override
    def __str__(self) -> str:
        return "0x" + self.hex()

    @override
    def __repr__(self) -> str:
        return f"HexBytes('{self}')"


class BytesField(models.BinaryField):  # type: ignore[type-arg]  # generic only in the stubs
    """Bytes of any length; text values are read as hex."""

    def from_db_value(self, value: Any, _expression: Any, _connection: Any) -> HexBytes | None:
        """Return the column's value as `HexBytes`."""
        return None if value is None else HexBytes(value)

    @override
    def to_python(self, value: Any) -> Any:
        if isinstance(value, str):
            try:
                return HexBytes.fromhex(value.removeprefix("0x"))
            except ValueError:
                raise ValidationError(
                    "%(value)s is not hexadecimal", params={"value": value}
                ) from None
        return value

    @override
    def get_prep_value(self, value: Any) -> Any:
        return super().get_prep_value(self.to_python(value))

    @override
    def value_to_string(self, obj: models.Model) -> str:
        return str(HexBytes(self.value_from_object(obj)))


class FixedBytesField(BytesField):
    """Exactly `length` bytes."""

    length = 32

    @override
    def to_python(self, value: Any) -> Any:
        value = super().to_python(value)
        if value is not None and len(value) != self.length:
            raise ValidationError(
                "expected %(length)d bytes, got %(got)d",
                params={"length": self.length, "got": len(value)},
            )
        return value


class AddressField(FixedBytesField):
    """20 bytes: an EVM address."""

    length = 20


class HashField(FixedBytesField):
    """32 bytes: a hash."""


class WordField(FixedBytesField):
    """32 bytes: an EVM word (topic, storage slot or value)."""


class IdentifierField(FixedBytesField):
    """An identifier with a text form; text values are read in that form or as 0x-prefixed hex."""

    identifier: ClassVar[type[FixedId]]

    @override
    def from_db_value(self, value: Any, _expression: Any, _connection: Any) -> Any:
        """Return the column's value as an identifier."""
        return None if value is None else self.identifier(bytes(value))

    @override
    def to_python(self, value: Any) -> Any:
        if isinstance(value, self.identifier):
            return value
        if isinstance(value, str) and not value.startswith("0x"):
            try:
                return self.identifier.parse(value)
            except (Cb58Error, IdError) as error:
                raise ValidationError(
                    "%(value)s is not an identifier: %(error)s",
                    params={"value": value[:80], "error": error},
                ) from None
        value = super().to_python(value)
        return None if value is None else self.identifier(bytes(value))

    @override
    def value_to_string(self, obj: models.Model) -> str:
        return str(self.to_python(self.value_from_object(obj)))


class IDField(IdentifierField):
    """32 bytes: the ID of a transaction, block, subnet, blockchain, asset or UTXO of the P-Chain."""

    identifier = ID


class NodeIDField(IdentifierField):
    """20 bytes: a node ID."""

    identifier = NodeID
    length = NodeID.SIZE


class ShortIDField(IdentifierField):
    """20 bytes: a P-Chain address."""

    identifier = ShortID
    length = ShortID.SIZE


class RowIdField(models.BigIntegerField):  # type: ignore[type-arg]  # generic only in the stubs
    """A 63-bit integer that is the primary key of a table.

    SQLite stores a table by its rowid, and uses a primary key as rowid only if its type is INTEGER,
    not BIGINT ("CREATE TABLE", ROWIDs and the INTEGER PRIMARY KEY). Any other primary key needs a
    separate index, which is written with each row and read before each.
    """

    @override
    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "integer" if connection.vendor == "sqlite" else super().db_type(connection)


class UnsignedField(models.Field):  # type: ignore[type-arg]  # generic only in the stubs
    """An unsigned integer of more than 63 bits."""

    digits = 0
    largest = 0

    @property
    def width(self) -> int:
        """Least number of digits of SQLite's text."""
        return self.digits

    @override
    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        if connection.vendor == "postgresql":
            return f"numeric({self.digits}, 0)"
        return f"varchar({self.digits})"

    @override
    def get_internal_type(self) -> str:
        return type(self).__name__

    def from_db_value(self, value: Any, _expression: Any, _connection: Any) -> int | None:
        """Return the column's value as an int."""
        return None if value is None else int(value)

    @override
    def to_python(self, value: Any) -> Any:
        if value is None:
            return None
        try:
            number = int(value)
        except (TypeError, ValueError):
            raise ValidationError("%(value)s is not an integer", params={"value": value}) from None
        if not 0 <= number <= self.largest:
            raise ValidationError(
                "%(value)s is not between 0 and %(largest)d",
                params={"value": value, "largest": self.largest},
            )
        return number

    @override
    def get_prep_value(self, value: Any) -> Any:
        return self.to_python(super().get_prep_value(value))

    @override
    def get_db_prep_value(
        self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False
    ) -> Any:
        number = value if prepared else self.get_prep_value(value)
        return number if number is None else for_database(number, self.width, connection.vendor)


class UInt64Field(UnsignedField):
    """0 to 2^64 - 1."""

    digits = 20
    largest = 2**64 - 1


class UInt256Field(UnsignedField):
    """0 to 2^256 - 1."""

    digits = 78
    largest = 2**256 - 1


class UncomparedField(UnsignedField):
    """An unsigned integer that queries only read: SQLite's text is not padded with zeros.

    Rows of older versions are padded. Both forms are read, but neither is compared with the other.
    """

    @property
    @override
    def width(self) -> int:
        return 1

    @override
    def get_lookup(self, lookup_name: str) -> Any:
        """Return the lookup for empty values.

        Raises:
            FieldError: It is another one.
        """
        if lookup_name != "isnull":
            raise FieldError(f"{self.name} cannot be compared: its values have different lengths")
        return super().get_lookup(lookup_name)


class UncomparedUInt64Field(UncomparedField, UInt64Field):
    """0 to 2^64 - 1, only to be read."""


class UncomparedUInt256Field(UncomparedField, UInt256Field):
    """0 to 2^256 - 1, only to be read."""


def for_database(number: int, digits: int, vendor: str) -> int | str:
    """Return a big integer in the form of the column in this database (for `bulk`)."""
    return number if vendor == "postgresql" else f"{number:d}".zfill(digits)


PLACES = 1 << 24
"""Maximum rows of one kind in a block."""

HEIGHTS = 1 << 39
"""Number of blocks that 63-bit keys can then express."""


def row_id(height: int, place: int = 0) -> int:
    """Return the key of the row at a position in a block; position 0 is the block's first row."""
    return height * PLACES + place


def height_of(key: int) -> int:
    """Return the height of the block that a key belongs to."""
    return key // PLACES
