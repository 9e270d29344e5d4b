"""The events and functions that the admin knows by name."""

from cchain_app.admin.display import EVENTS, address_in, event_of, function_of
from chaindb.fields import HexBytes

# Well-known values, as every explorer shows them.
TRANSFER = bytes.fromhex("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
APPROVAL = bytes.fromhex("8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925")


def test_transfer_and_approval_are_known_by_their_topics() -> None:
    transfer, approval = event_of(TRANSFER), event_of(APPROVAL)
    assert transfer is not None
    assert approval is not None
    assert (transfer.name, approval.name) == ("Transfer", "Approval")
    assert transfer.parameters == ("address", "address", "uint256")
    assert transfer.text == "Transfer(address,address,uint256)"


def test_other_topics_and_none_are_unknown() -> None:
    assert event_of(bytes(32)) is None
    assert event_of(None) is None


def test_a_topic_read_from_the_database_is_found() -> None:
    assert event_of(HexBytes(TRANSFER)) is EVENTS[TRANSFER]  # type: ignore[index]


def test_a_function_is_known_by_its_selector() -> None:
    transfer = function_of(bytes.fromhex("a9059cbb") + bytes(64))
    assert transfer is not None
    assert transfer.text == "transfer(address,uint256)"
    assert function_of(b"") is None
    assert function_of(b"\x01\x02\x03\x04") is None


def test_an_address_is_read_from_a_topic_that_holds_nothing_else() -> None:
    assert address_in(bytes(12) + b"\x11" * 20) == b"\x11" * 20
    assert address_in(b"\x01" + bytes(31)) is None
