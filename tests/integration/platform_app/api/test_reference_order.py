"""The order of lists under avalanchego's parameters: the same as there (pchain.md 8.2)."""

from collections.abc import Iterable
from typing import Any

import pytest

from nodeproject.apps import this_node
from platform_app.txs.base import BaseTx, Tx
from platform_app.txs.codec import CODEC
from platform_app.txs.subnets import CreateChainTx, CreateSubnetTx
from primitives.addresses import format_address
from primitives.checksummed import decode
from primitives.ids import ID, PRIMARY_NETWORK_ID, ShortID
from tests.builders import platform
from tests.builders.platform import ADDRESSES
from tests.integration.platform_app.conftest import EWOQ, PChain, Rpc, asking
from utxo.components import UTXO

FIRST, SECOND = sorted(ADDRESSES[:2])


def text(address: ShortID) -> str:
    return format_address("P", "local", address)


@pytest.fixture
def ask(reference_pchain: PChain) -> Rpc:
    return asking(this_node().endpoints.platform.dispatcher)


def ids_of(utxos: Iterable[str]) -> list[tuple[str, int]]:
    parsed = [CODEC.unmarshal(UTXO, decode(utxo)) for utxo in utxos]
    return [(str(item.tx_id), item.output_index) for item in parsed]


def pay(chain: PChain, *receivers: ShortID) -> list[tuple[str, int]]:
    """Pay each receiver in one block; return the new outputs by owner, and within an owner by UTXO ID."""
    made = chain.make(BaseTx, *(chain.output(1_000 + n, one) for n, one in enumerate(receivers)))
    tx = chain.do(made)
    utxos = [
        sorted_coin
        for owner in sorted(set(receivers))
        for sorted_coin in sorted_coins(chain, owner, tx)
    ]
    return [(str(utxo.tx_id), utxo.output_index) for utxo in utxos]


def sorted_coins(chain: PChain, owner: ShortID, tx: Tx) -> list[UTXO]:
    found = [coin for coin in chain.coins(owner) if coin.tx_id == tx.tx_id]
    return sorted(found, key=lambda one: one.utxo_id)


@pytest.mark.parametrize("limit", [1, 2, 3, 9, 1024])
def test_outputs_of_an_address_are_paged_newest_first(
    reference_pchain: PChain, ask: Rpc, limit: int
) -> None:
    blocks = [pay(reference_pchain, FIRST, FIRST) for _ in range(4)]
    of_second = pay(reference_pchain, SECOND)
    asked = {"addresses": [text(SECOND), text(FIRST)], "limit": limit}
    found, start = [], {}
    while utxos := (page := ask("platform.getUTXOs", **asked, **start))["utxos"]:
        found += ids_of(utxos)
        start = {"startIndex": page["endIndex"]}

    assert found == [*(item for block in reversed(blocks) for item in block), *of_second]


def test_page_after_a_spent_output_restarts_with_the_newest(
    reference_pchain: PChain, ask: Rpc
) -> None:
    other, own = pay(reference_pchain, SECOND), pay(reference_pchain, FIRST)
    (of_second,) = reference_pchain.coins(SECOND)
    assert (str(of_second.tx_id), of_second.output_index) == other[0]

    for gone in (ID(b"\xff" * ID.SIZE), of_second.utxo_id):
        start = {"address": text(FIRST), "utxo": str(gone)}
        page = ask("platform.getUTXOs", addresses=[text(FIRST)], startIndex=start)
        assert ids_of(page["utxos"]) == own


def test_a_balance_names_outputs_in_that_order_too(reference_pchain: PChain, ask: Rpc) -> None:
    blocks = [pay(reference_pchain, FIRST, FIRST) for _ in range(4)]

    named = ask("platform.getBalance", addresses=[text(SECOND), text(FIRST)])["utxoIDs"]

    assert [(item["txID"], item["outputIndex"]) for item in named] == [
        other for block in reversed(blocks) for other in block
    ]


def test_blockchains_are_in_avalanchegos_order(reference_pchain: PChain, ask: Rpc) -> None:
    owner = platform.owners(EWOQ)
    subnets = [
        reference_pchain.do(reference_pchain.make(CreateSubnetTx, owner=owner, burn=10**9)).tx_id
        for _ in range(2)
    ]
    own = [
        str(
            reference_pchain.do(
                reference_pchain.make(CreateChainTx, subnet_id=one, chain_name=name, burn=10**9)
            ).tx_id
        )
        for one, name in ((subnets[1], "B"), (subnets[0], "A"))
    ]

    network = reference_pchain.network
    primary = [str(network.c_chain_id), str(network.x_chain_id)]
    listed: list[dict[str, Any]] = ask("platform.getBlockchains")["blockchains"]
    assert [item["id"] for item in listed] == [own[1], own[0], *primary]
    shown = ask("platform.validates", subnetID=str(PRIMARY_NETWORK_ID))
    assert shown == {"blockchainIDs": primary}
    assert ask("platform.validates", subnetID=str(subnets[0])) == {"blockchainIDs": [own[1]]}
