"""platform.sampleValidators."""

from collections import Counter
from itertools import combinations

from nodeproject.apps import this_node
from platform_app.api import heights
from platform_app.memory.stakers import Member
from platform_app.selectors import stakers
from primitives.ids import PRIMARY_NETWORK_ID, NodeID
from tests.builders import platform
from tests.integration.platform_app.conftest import PChain, Rpc, refusal


def test_sample_has_the_requested_size_with_repetitions(pchain: PChain, rpc: Rpc) -> None:
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
    """Set the validators to new nodes with these weights, and return the nodes."""
    nodes = [NodeID(bytes([9 - place]) * 20) for place in range(len(weights))]
    members = {node: Member(weight, None) for node, weight in zip(nodes, weights, strict=True)}
    monkeypatch.setattr(stakers, "current_members", lambda _chain, _subnet: members)
    return nodes


def test_all_units_are_drawn_once(pchain: PChain, monkeypatch) -> None:
    heavy, light = weighted(monkeypatch, 7, 3)

    assert (
        heights._sample(this_node().platform_rpc, 10, PRIMARY_NETWORK_ID)
        == [light] * 3 + [heavy] * 7
    )


def test_more_than_there_is_weight(pchain: PChain, rpc: Rpc, monkeypatch) -> None:
    weighted(monkeypatch, 7, 3)

    assert refusal(rpc, "platform.sampleValidators", size=11) == (
        f"sampling {PRIMARY_NETWORK_ID} errored with insufficient weight"
    )


def test_validators_are_sampled_by_weight(pchain: PChain, monkeypatch) -> None:
    heavy, light = weighted(monkeypatch, 9 * 10**17, 10**17)

    drawn = heights._sample(this_node().platform_rpc, 2000, PRIMARY_NETWORK_ID)
    assert drawn == sorted(drawn)
    assert 1650 < drawn.count(heavy) < 1950
    assert drawn.count(heavy) + drawn.count(light) == 2000


def test_a_subnet_may_weigh_more_than_a_range_is_long(
    pchain: PChain, rpc: Rpc, monkeypatch
) -> None:
    weighted(monkeypatch, 2**64 - 1, 2**64 - 1, 2**63)

    assert len(rpc("platform.sampleValidators", size=65535)["validators"]) == 65535


def test_each_set_of_units_is_as_likely_as_any_other() -> None:
    drawn = Counter(tuple(heights._units(2, 4)) for _ in range(6000))

    assert set(drawn) == set(combinations(range(4), 2))
    assert all(850 < times < 1150 for times in drawn.values())


def test_units_are_different_and_sorted() -> None:
    for weight in (50, 51, 2**70):
        units = heights._units(50, weight)
        assert units == sorted(set(units))
        assert len(units) == 50
        assert 0 <= units[0] < units[-1] < weight
