"""Methods whose answers depend on what is special about coreth's blocks and slots."""

from typing import Any

import pytest

from primitives.hexadecimal import encode_data
from tests.builders.bytecode import assemble
from tests.builders.coreth import local_genesis
from tests.integration.cchain_app.coreth.follower import Follower, chain_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite_only]

READER = "0x" + "aa" * 20
SLOT = b"\x01" + bytes(31)
"""A slot whose value coreth stores in slot 0."""
SEVEN = encode_data((7).to_bytes(32))
READ = assemble(int.from_bytes(SLOT), "SLOAD 0 MSTORE 32 0 RETURN")


@pytest.fixture(params=["native", "reference"])
def follower(request: pytest.FixtureRequest) -> Follower:
    """A node at the genesis."""
    return Follower(chain_of(local_genesis().encode(), engine=request.param))


def override(member: str, slot: bytes = SLOT) -> dict[str, Any]:
    """Return an override of one slot of a contract that reads `SLOT`."""
    return {READER: {"code": encode_data(READ), member: {encode_data(slot): SEVEN}}}


@pytest.mark.parametrize("member", ["state", "stateDiff"])
@pytest.mark.parametrize("slot", [SLOT, bytes(32)], ids=["of the client", "as stored"])
def test_overrides_of_slots_are_read_by_calls(follower: Follower, member: str, slot: bytes) -> None:
    overrides = override(member, slot)

    assert follower.ask("eth_call", {"to": READER}, "latest", overrides) == SEVEN
    traced = follower.ask(
        "debug_traceCall", {"to": READER}, "latest", {"stateOverrides": overrides}
    )
    assert traced["returnValue"] == SEVEN
    (block,) = follower.ask(
        "eth_simulateV1",
        {"blockStateCalls": [{"stateOverrides": overrides, "calls": [{"to": READER}]}]},
        "latest",
    )
    assert block["calls"][0]["returnData"] == SEVEN
