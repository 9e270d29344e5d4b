"""info.peers."""

from datetime import UTC, datetime
from typing import Any

import pytest

from primitives.ids import NodeID
from tests.builders import network_rows
from tests.integration.info_app.conftest import AskBare
from tests.integration.platform_app.conftest import Rpc, refusal

pytestmark = pytest.mark.sqlite_only

ALICE, BOB, GONE, STRANGER = (NodeID(bytes([number]) * 20) for number in range(1, 5))
PRIMARY_NETWORK = "11111111111111111111111111111111LpoYY"
SUBNET = "2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe"


@pytest.fixture
def peers(db: None) -> None:
    """Two connected peers, and a disconnected one."""
    network_rows.report(connected=2)
    network_rows.peer(
        ALICE,
        last_sent=datetime(2026, 7, 1, 12, 0, 0, 250_000, tzinfo=UTC),
        last_received=datetime(2026, 7, 1, 12, 0, 1, tzinfo=UTC),
        connected_since=network_rows.ago(100),
        observed_uptime=99,
        tracked_subnets=[SUBNET],
        supported_acps=[77],
        objected_acps=[78],
        benched=["C", "P"],
    )
    network_rows.peer(BOB, connected_since=network_rows.ago(50))
    network_rows.peer(GONE, connected_since=None)


def shown(rpc: Rpc, **params: Any) -> list[str]:
    found = rpc("info.peers", **params)
    assert found["numPeers"] == str(len(found["peers"]))
    return [peer["nodeID"] for peer in found["peers"]]


def test_a_peers_record(peers: None, rpc: Rpc) -> None:
    found = rpc("info.peers")

    assert found["numPeers"] == "2"
    assert found["peers"][0] == {
        "ip": "198.51.100.4:50123",
        "publicIP": "198.51.100.4:9651",
        "nodeID": str(ALICE),
        "version": "avalanchego/1.14.2",
        "upgradeTime": 1_607_144_400,
        "lastSent": "2026-07-01T12:00:00.25Z",
        "lastReceived": "2026-07-01T12:00:01Z",
        "observedUptime": "99",
        "trackedSubnets": [PRIMARY_NETWORK, SUBNET],
        "supportedACPs": [77],
        "objectedACPs": [78],
        "benched": ["C", "P"],
    }


def test_peer_without_reports_has_empty_lists(peers: None, rpc: Rpc) -> None:
    bob = rpc("info.peers")["peers"][1]

    assert bob["trackedSubnets"] == [PRIMARY_NETWORK]
    assert (bob["benched"], bob["supportedACPs"], bob["objectedACPs"]) == ([], [], [])


def test_primary_network_is_listed_once(peers: None, rpc: Rpc) -> None:
    network_rows.peer(BOB, tracked_subnets=[SUBNET, PRIMARY_NETWORK])

    tracked = {peer["nodeID"]: peer["trackedSubnets"] for peer in rpc("info.peers")["peers"]}
    assert tracked[str(BOB)] == [PRIMARY_NETWORK, SUBNET]


def test_list_without_connections_is_empty(rpc: Rpc) -> None:
    assert rpc("info.peers") == {"numPeers": "0", "peers": []}


def test_requested_node_ids_filter_connected_peers(peers: None, rpc: Rpc) -> None:
    assert shown(rpc, nodeIDs=[str(BOB)]) == [str(BOB)]
    assert shown(rpc, nodeIDs=[str(STRANGER), str(GONE)]) == []
    assert shown(rpc, nodeIDs=[str(ALICE), str(STRANGER), str(BOB)]) == [str(ALICE), str(BOB)]


@pytest.mark.parametrize("params", [{}, {"nodeIDs": []}, {"nodeIDs": None}, {"chain": "P"}])
def test_without_a_filter_all_are_shown(peers: None, rpc: Rpc, params: dict[str, Any]) -> None:
    assert shown(rpc, **params) == [str(ALICE), str(BOB)]


def test_missing_params_list_all_peers(peers: None, bare: AskBare) -> None:
    assert bare("info.peers")["result"]["numPeers"] == "2"


def test_malformed_node_id_is_refused(rpc: Rpc) -> None:
    assert refusal(rpc, "info.peers", nodeIDs=["NodeID-x"]).startswith(
        "couldn't unmarshal an argument."
    )


def test_too_many_node_ids_are_refused(rpc: Rpc) -> None:
    message = refusal(rpc, "info.peers", nodeIDs=[str(ALICE)] * 1025)
    assert message == "number of node IDs given, 1025, exceeds maximum, 1024"


def test_list_without_network_process_is_empty(peers: None, rpc: Rpc) -> None:
    network_rows.report(heartbeat_at=network_rows.ago(60))

    assert rpc("info.peers") == {"numPeers": "0", "peers": []}
