"""The support and objection of connected validators to proposals, by stake."""

from datetime import UTC, datetime

from info_app.api import tally
from info_app.selectors import PeerRecord
from primitives.ids import NodeID

ALICE, BOB, CAROL, STRANGER = (NodeID(bytes([number]) * 20) for number in range(1, 5))
WEIGHTS = {ALICE: 10, BOB: 20, CAROL: 70}


def peer(
    node_id: NodeID, *, supports: tuple[int, ...] = (), objects: tuple[int, ...] = ()
) -> PeerRecord:
    never = datetime.fromtimestamp(0, UTC)
    return PeerRecord(
        node_id, "127.0.0.1:9", "127.0.0.1:9", "avalanchego/1.14.2", 0, never, never, 100,
        supported_acps=supports, objected_acps=objects,
    )  # fmt: skip


def test_peers_without_acp_preferences_give_an_empty_tally() -> None:
    assert tally([peer(ALICE), peer(BOB)], WEIGHTS) == {}


def test_stake_supports_objects_and_abstains() -> None:
    peers = [peer(ALICE, supports=(77, 103)), peer(BOB, objects=(77,))]

    assert tally(peers, WEIGHTS) == {
        "77": {
            "supportWeight": "10",
            "supporters": [str(ALICE)],
            "objectWeight": "20",
            "objectors": [str(BOB)],
            "abstainWeight": "70",
        },
        "103": {
            "supportWeight": "10",
            "supporters": [str(ALICE)],
            "objectWeight": "0",
            "objectors": [],
            "abstainWeight": "90",
        },
    }


def test_non_validator_is_not_counted() -> None:
    assert tally([peer(STRANGER, supports=(77,))], WEIGHTS) == {}


def test_nothing_is_less_than_no_stake() -> None:
    found = tally([peer(CAROL, supports=(1,), objects=(1,))], WEIGHTS)
    assert found["1"]["abstainWeight"] == "0"
