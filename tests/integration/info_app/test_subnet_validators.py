"""`validators.getCurrentValidators` of a chain of a subnet."""

import json
from dataclasses import replace
from typing import Any

import pytest

from chaindb import clock
from info_app.subnet_validators import validator_methods
from jsonrpc.dispatch.dialects import GORILLA
from jsonrpc.dispatch.dispatcher import Dispatcher
from platform_app.apps import platform_chain
from platform_app.services import uptime
from platform_app.state.l1_validators import L1Validator
from platform_app.state.stakers import Priority
from platform_app.txs.l1 import PChainOwner
from primitives.hashing import sha256
from primitives.ids import NodeID
from tests.builders import own_node, platform
from tests.builders.platform_rows import accept, adding, begin

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("node_settings")]

START, SUBNET = platform.NOW, platform.SUBNET_ID
ONE, OTHER, LEGACY = (NodeID(sha256(name)[:20]) for name in (b"one", b"other", b"legacy"))
OWNER = PChainOwner(1, (platform.ADDRESSES[0],))
ACTIVE = L1Validator(
    platform.some_id("active"), SUBNET, ONE, platform.proof_of_possession().public_key, OWNER,
    OWNER, START, 7, 0, 10**9,
)  # fmt: skip
INACTIVE = replace(
    ACTIVE, validation_id=platform.some_id("off"), node_id=OTHER, weight=3, end_accumulated_fee=0
)


def asked(*, is_watched: bool = True, **params: Any) -> Any:
    methods = validator_methods(platform_chain(), SUBNET, lambda: (SUBNET,) * is_watched)
    body = {
        "jsonrpc": "2.0", "id": 1, "method": "validators.getCurrentValidators", "params": params,
    }  # fmt: skip
    dispatcher = Dispatcher(methods, GORILLA)
    return json.loads(dispatcher.answer(json.dumps(body).encode()) or b"")


@pytest.fixture(autouse=True)
def validators(monkeypatch: pytest.MonkeyPatch) -> None:
    own_node.be(monkeypatch, NodeID(sha256(b"own")[:20]))
    begin(adding()[1])
    accept(
        lambda diff: diff.l1_validators.put(ACTIVE),
        lambda diff: diff.l1_validators.put(INACTIVE),
        adding(Priority.PERMISSIONED_VALIDATOR_CURRENT, node_id=LEGACY, weight=5, start=START)[1],
    )
    uptime.observe(platform_chain(), [ONE], START, [SUBNET])
    monkeypatch.setattr(clock, "now", lambda: START + 100)


def test_all_validators_are_shown_with_their_uptimes() -> None:
    by_node = {one["nodeID"]: one for one in asked()["result"]["validators"]}
    assert len(by_node) == 3
    assert by_node[str(ONE)] == {
        "validationID": str(ACTIVE.validation_id),
        "nodeID": str(ONE),
        "weight": 7,
        "startTimestamp": START,
        "isActive": True,
        "isL1Validator": True,
        "isConnected": True,
        "uptimePercentage": 100.0,
        "uptimeSeconds": 100,
    }
    other = by_node[str(OTHER)]
    assert (other["isActive"], other["isConnected"], other["uptimePercentage"]) == (False, False, 0)
    legacy = by_node[str(LEGACY)]
    assert (legacy["isL1Validator"], legacy["weight"], legacy["uptimeSeconds"]) == (False, 5, 0)


def test_some_nodes_are_selected() -> None:
    (found,) = asked(nodeIDs=[str(OTHER)])["result"]["validators"]
    assert found["validationID"] == str(INACTIVE.validation_id)
    unknown = NodeID(bytes(20))
    assert asked(nodeIDs=[str(ONE), str(unknown)])["error"]["message"] == (
        f"couldn't find validator with node ID {unknown}"
    )


def test_uptimes_of_a_subnet_that_is_not_watched_are_zero() -> None:
    found = asked(is_watched=False)["result"]["validators"]
    assert {one["uptimeSeconds"] for one in found} == {0}
