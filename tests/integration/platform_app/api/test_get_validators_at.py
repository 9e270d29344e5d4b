"""platform.getValidatorsAt and getAllValidatorsAt."""

import pytest

from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from platform_app.api import heights
from platform_app.apps import platform_chain
from platform_app.config import DAY
from platform_app.memory.stakers import Member
from platform_app.selectors import stakers
from platform_app.txs.staking import AddValidatorTx
from platform_app.txs.subnets import AddSubnetValidatorTx, CreateSubnetTx
from primitives.ids import PRIMARY_NETWORK_ID, NodeID
from tests.builders import platform
from tests.integration.platform_app.conftest import EWOQ, PChain, Rpc, asking, refusal

NODE = NodeID(b"n" * 20)


def own_key() -> str:
    (genesis,) = stakers.current_validators(platform_chain()).validators
    assert genesis.public_key is not None
    return "0x" + genesis.public_key.hex()


def join(pchain: PChain) -> None:
    """Let a second node become a validator in the block of height 2."""
    period = platform.validator(node_id=NODE, start=pchain.now + 60, end=pchain.now + 60 + 14 * DAY)
    pchain.do(pchain.make(AddValidatorTx, stake=pchain.stake(period.weight), validator=period))
    pchain.wait(60)


def test_the_set_of_each_height(pchain: PChain, rpc: Rpc) -> None:
    own = {str(pchain.node_id): {"publicKey": own_key(), "weight": "2000000000000"}}
    join(pchain)
    both = own | {str(NODE): {"publicKey": None, "weight": "2000000000"}}

    assert rpc("platform.getValidatorsAt", height=0) == {"validators": own}
    assert rpc("platform.getValidatorsAt", height="1") == {"validators": own}
    assert rpc("platform.getValidatorsAt", height=2, subnetID=None) == {"validators": both}
    assert rpc("platform.getValidatorsAt") == {"validators": own}


def test_with_the_reference_s_parameters_the_set_is_the_result(reference_pchain: PChain) -> None:
    rpc = asking(this_node().endpoints.platform.dispatcher)
    (first, *others) = stakers.current_validators(platform_chain()).validators
    assert first.public_key is not None

    found = rpc("platform.getValidatorsAt", height=0)

    assert found.keys() == {str(other.node_id) for other in (first, *others)}
    assert found[str(first.node_id)] == {
        "publicKey": "0x" + first.public_key.hex(),
        "weight": "2000000000000000",
    }


def test_the_proposed_height_has_a_name(pchain: PChain, rpc: Rpc) -> None:
    join(pchain)
    assert len(rpc("platform.getValidatorsAt", height="proposed")["validators"]) == 1
    pchain.now += 31
    assert len(rpc("platform.getValidatorsAt", height="proposed")["validators"]) == 2


def test_future_height_is_refused(rpc: Rpc) -> None:
    assert refusal(rpc, "platform.getValidatorsAt", height=5) == (
        "failed to get validator set at 5: failed to fetch validator set at unfinalized height with "
        "SubnetID = 11111111111111111111111111111111LpoYY: "
        "current P-chain height (0) < requested P-Chain height (5)"
    )


@pytest.mark.parametrize("height", [-1, 1.5, "x", "Proposed", 2**64, True, ""])
def test_malformed_height_is_refused(rpc: Rpc, height: object) -> None:
    with pytest.raises(JsonRpcError, match="couldn't unmarshal an argument"):
        rpc("platform.getValidatorsAt", height=height)


def test_all_sets_of_a_height(pchain: PChain, rpc: Rpc) -> None:
    join(pchain)
    subnet = pchain.do(pchain.make(CreateSubnetTx, owner=platform.owners(EWOQ))).tx_id
    pchain.do(pchain.make(CreateSubnetTx, owner=platform.owners(EWOQ)))
    period = platform.subnet_validator(
        node_id=pchain.node_id, subnet_id=subnet, start=pchain.now + 60, end=pchain.now + 60 + DAY
    )
    pchain.do(pchain.make(AddSubnetValidatorTx, validator=period))
    pchain.wait(60)
    height = int(rpc("platform.getHeight")["height"])

    primary = {
        "validators": [
            {
                "publicKey": own_key_of(pchain),
                "weight": "2000000000000",
                "nodeIDs": [str(pchain.node_id)],
            }
        ],
        "totalWeight": "2002000000000",
    }
    of_subnet = {
        "validators": [
            {"publicKey": own_key_of(pchain), "weight": "20", "nodeIDs": [str(pchain.node_id)]}
        ],
        "totalWeight": "20",
    }
    assert rpc("platform.getAllValidatorsAt", height=height) == {
        "validatorSets": {str(PRIMARY_NETWORK_ID): primary, str(subnet): of_subnet}
    }
    assert rpc("platform.getAllValidatorsAt", height=2) == {
        "validatorSets": {str(PRIMARY_NETWORK_ID): primary}
    }
    assert refusal(rpc, "platform.getAllValidatorsAt", height=height + 1) == (
        f"failed to get validator sets at {height + 1}: failed to fetch validator set at unfinalized "
        f"height: current P-chain height ({height}) < requested P-Chain height ({height + 1})"
    )


def test_all_sets_are_of_one_proposed_height(pchain: PChain, rpc: Rpc, monkeypatch) -> None:
    for _ in range(2):
        pchain.do(pchain.make(CreateSubnetTx, owner=platform.owners(EWOQ)))
    asked = []
    monkeypatch.setattr(heights, "proposed_height", lambda _rpc: len(asked.append(0) or asked))

    rpc("platform.getAllValidatorsAt", height="proposed")
    assert len(asked) == 1


def own_key_of(pchain: PChain) -> str:
    key = stakers.current_validators(platform_chain()).by_node[pchain.node_id].public_key
    assert key is not None
    return "0x" + key.hex()


def test_a_canonical_set_is_in_the_order_of_uncompressed_keys() -> None:
    keys = [platform.proof_of_possession(number).public_key for number in range(1, 9)]
    nodes = [NodeID(bytes([number]) * 20) for number in range(9)]
    members = {node: Member(1, key) for node, key in zip(nodes, keys, strict=False)}
    members[nodes[8]] = Member(5, keys[0])

    shown = heights._canonical(this_node().platform_rpc, members)

    assert [bytes.fromhex(item["publicKey"][2:]) for item in shown["validators"]] == sorted(
        keys, key=uncompressed
    )
    shared = next(
        other for other in shown["validators"] if other["publicKey"] == "0x" + keys[0].hex()
    )
    assert (shared["weight"], shared["nodeIDs"]) == ("6", [str(nodes[0]), str(nodes[8])])
    assert shown["totalWeight"] == "13"


def uncompressed(key: bytes) -> bytes:
    from py_ecc.bls.point_compression import decompress_G1

    x, y, _ = decompress_G1(int.from_bytes(key, "big"))
    return b"".join(int(part).to_bytes(48, "big") for part in (x, y))
