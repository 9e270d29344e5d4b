"""Fields for identifiers: they accept cb58 and hex of the right length and return cb58."""

import pytest
from django.core.exceptions import ValidationError

from chaindb.fields import IDField, NodeIDField, ShortIDField
from primitives.ids import EMPTY_ID, EMPTY_NODE_ID, ID, NodeID, ShortID

TEXT = "11111111111111111111111111111111LpoYY"
NODE = "NodeID-111111111111111111116DBWJs"


def test_an_identifier_reads_as_the_protocol_writes_it() -> None:
    shown = IDField().from_db_value(bytes(32), None, None)

    assert isinstance(shown, ID)
    assert str(shown) == TEXT
    assert str(NodeIDField().from_db_value(bytes(20), None, None)) == NODE


def test_null_identifier_remains_null() -> None:
    assert IDField(null=True).from_db_value(None, None, None) is None
    assert IDField(null=True).to_python(None) is None


@pytest.mark.parametrize("given", [TEXT, "0x" + "00" * 32, bytes(32), EMPTY_ID])
def test_an_id_is_taken_as_text_as_hex_and_as_bytes(given: str | bytes) -> None:
    taken = IDField().to_python(given)

    assert isinstance(taken, ID)
    assert taken == EMPTY_ID


def test_a_node_is_taken_with_its_prefix() -> None:
    assert NodeIDField().to_python(NODE) == EMPTY_NODE_ID
    assert isinstance(NodeIDField().to_python(bytes(20)), NodeID)
    with pytest.raises(ValidationError, match="is missing the prefix: NodeID-"):
        NodeIDField().to_python(TEXT)


def test_an_address_has_twenty_bytes() -> None:
    assert ShortIDField().to_python(str(ShortID(bytes(20)))) == bytes(20)
    with pytest.raises(ValidationError, match="is not an identifier: invalid hash length"):
        ShortIDField().to_python(TEXT)
    with pytest.raises(ValidationError, match="expected 20 bytes, got 32"):
        ShortIDField().to_python(bytes(32))


def test_a_text_with_a_typing_error_is_refused() -> None:
    with pytest.raises(ValidationError, match="is not an identifier: invalid input checksum"):
        IDField().to_python(TEXT[:-1] + "Z")
