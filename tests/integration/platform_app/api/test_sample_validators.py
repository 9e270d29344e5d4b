"""platform.sampleValidators."""

from platform_app.api import heights
from platform_app.selectors import stakers
from platform_app.selectors.stakers import CurrentSet
from primitives.ids import PRIMARY_NETWORK_ID, NodeID
from tests.builders import platform
from tests.integration.platform_app.conftest import PChain, Rpc, refusal


def test_as_many_as_asked_for_and_the_same_node_several_times(pchain: PChain, rpc: Rpc) -> None:
    for size in (2, "2"):
        assert rpc("platform.sampleValidators", size=size) == {
            "validators": [str(pchain.node_id)] * 2
        }
    assert rpc("platform.sampleValidators") == {"validators": []}


def test_a_subnet_without_validators(rpc: Rpc) -> None:
    subnet = str(platform.SUBNET_ID)
    assert refusal(rpc, "platform.sampleValidators", size=1, subnetID=subnet) == (
        f"sampling {subnet} errored with missing validators"
    )


def weighted(monkeypatch, *weights: int) -> list[NodeID]:
    """Let a set of nodes validate, with these weights, and return them."""
    template = stakers.current_validators().validators[0]
    nodes = [NodeID(bytes([9 - place]) * 20) for place in range(len(weights))]
    validators = tuple(
        template._replace(node_id=node, weight=weight - 1, delegator_weight=1)
        for node, weight in zip(nodes, weights, strict=True)
    )
    present = CurrentSet(validators, {one.node_id: one for one in validators}, sum(weights))
    monkeypatch.setattr(stakers, "current_validators", lambda _subnet: present)
    return nodes


def test_all_units_are_drawn_once(pchain: PChain, monkeypatch) -> None:
    heavy, light = weighted(monkeypatch, 7, 3)

    assert heights._sample(10, PRIMARY_NETWORK_ID) == [light] * 3 + [heavy] * 7


def test_more_than_there_is_weight(pchain: PChain, rpc: Rpc, monkeypatch) -> None:
    weighted(monkeypatch, 7, 3)

    assert refusal(rpc, "platform.sampleValidators", size=11) == (
        f"sampling {PRIMARY_NETWORK_ID} errored with insufficient weight"
    )


def test_nodes_come_in_proportion_to_their_weight(pchain: PChain, monkeypatch) -> None:
    heavy, light = weighted(monkeypatch, 9 * 10**17, 10**17)

    drawn = heights._sample(2000, PRIMARY_NETWORK_ID)
    assert drawn == sorted(drawn)
    assert 1650 < drawn.count(heavy) < 1950
    assert drawn.count(heavy) + drawn.count(light) == 2000
