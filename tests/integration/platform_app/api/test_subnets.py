"""platform.getSubnets and getSubnet."""

import pytest

from platform_app.api import PlatformRpc
from platform_app.txs.subnets import CreateSubnetTx, TransferSubnetOwnershipTx
from primitives.addresses import format_address
from primitives.hashing import sha256
from primitives.ids import EMPTY_ID, PRIMARY_NETWORK_ID, ShortID
from tests.builders import platform
from tests.integration.platform_app.conftest import EWOQ, PChain, Rpc, refusal

PRIMARY = {"id": str(PRIMARY_NETWORK_ID), "controlKeys": [], "threshold": "0"}


def create(pchain: PChain, *owners: platform.ShortID, threshold: int = 1) -> str:
    owner = platform.owners(*owners, threshold=threshold)
    return str(pchain.do(pchain.make(CreateSubnetTx, owner=owner)).tx_id)


def test_all_subnets_in_the_order_of_their_creation(pchain: PChain, rpc: Rpc) -> None:
    assert rpc("platform.getSubnets") == {"subnets": [PRIMARY]}
    first = create(pchain, *platform.ADDRESSES[:3], threshold=2)
    second = create(pchain, EWOQ)

    assert rpc("platform.getSubnets", ids=[]) == {
        "subnets": [
            {
                "id": first,
                "controlKeys": [
                    format_address("P", "local", address) for address in platform.ADDRESSES[:3]
                ],
                "threshold": "2",
            },
            {
                "id": second,
                "controlKeys": ["P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"],
                "threshold": "1",
            },
            PRIMARY,
        ]
    }


def test_requested_subnets_keep_their_order(pchain: PChain, rpc: Rpc) -> None:
    first, second = create(pchain, EWOQ), create(pchain, EWOQ)
    unknown = str(platform.SUBNET_ID)

    def ids(*asked: str) -> list[str]:
        return [item["id"] for item in rpc("platform.getSubnets", ids=list(asked))["subnets"]]

    assert ids(second, unknown, first, second) == [second, first]
    assert ids(unknown) == []
    assert ids(first, str(PRIMARY_NETWORK_ID), second) == [first, str(PRIMARY_NETWORK_ID), second]


def test_one_subnet(pchain: PChain, rpc: Rpc) -> None:
    subnet = create(pchain, EWOQ)

    assert rpc("platform.getSubnet", subnetID=subnet) == {
        "isPermissioned": True,
        "controlKeys": ["P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"],
        "threshold": "1",
        "locktime": "0",
        "subnetTransformationTxID": str(EMPTY_ID),
        "conversionID": str(EMPTY_ID),
        "managerChainID": str(EMPTY_ID),
        "managerAddress": None,
    }


def test_control_keys_are_rendered_once(pchain: PChain, rpc: Rpc, monkeypatch) -> None:
    rendered: list[object] = []
    address = PlatformRpc.address
    monkeypatch.setattr(
        PlatformRpc,
        "address",
        lambda self, one: address(self, one) if rendered.append(one) is None else "",
    )
    keys = [ShortID(sha256(b"control key %d" % number)[:20]) for number in range(3)]
    subnet = create(pchain, *keys)

    shown = rpc("platform.getSubnet", subnetID=subnet)["controlKeys"]
    assert [rpc("platform.getSubnets")["subnets"][0]["controlKeys"] for _ in range(2)] == [
        shown
    ] * 2
    assert set(rendered) == set(keys)
    assert len(rendered) == len(keys)


def test_a_new_owner_is_shown(pchain: PChain, rpc: Rpc) -> None:
    subnet = create(pchain, EWOQ)
    pchain.do(
        pchain.make(
            TransferSubnetOwnershipTx,
            subnet_id=platform.ID.parse(subnet),
            new_owner=platform.owners(platform.ADDRESSES[1], locktime=5),
        )
    )

    shown = rpc("platform.getSubnet", subnetID=subnet)
    assert shown["controlKeys"] == [format_address("P", "local", platform.ADDRESSES[1])]
    assert shown["locktime"] == "5"


@pytest.mark.parametrize("params", [{}, {"subnetID": str(PRIMARY_NETWORK_ID)}])
def test_primary_network_is_not_a_subnet(rpc: Rpc, params: dict[str, str]) -> None:
    assert refusal(rpc, "platform.getSubnet", **params) == "the primary network isn't a subnet"


def test_a_subnet_that_there_is_not(rpc: Rpc) -> None:
    assert refusal(rpc, "platform.getSubnet", subnetID=str(platform.SUBNET_ID)) == "not found"
