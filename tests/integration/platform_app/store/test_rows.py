"""Decoding of columns: which values are cached, and which are too large for that."""

from platform_app.store import rows
from primitives.hashing import sha256
from primitives.ids import ShortID
from tests.builders import platform


def test_the_usual_owners_are_remembered_and_owners_of_many_addresses_are_not() -> None:
    addresses = sorted(ShortID(sha256(b"%d" % number)[:20]) for number in range(60))
    few, many = platform.owners(addresses[0]), platform.owners(*addresses)

    assert rows.owners_of(rows.owners_bytes(few)) is rows.owners_of(rows.owners_bytes(few))
    first, second = (rows.owners_of(rows.owners_bytes(many)) for _ in range(2))
    assert first == second == many
    assert first is not second
