"""`asset create`: assets of each kind on a local network, and what it refuses."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from nodeproject.apps import this_node
from nodeproject.management.commands import asset
from primitives.ids import ID, ShortID
from primitives.keys import VMRQ_KEY, address_of
from tests.builders.node_settings import updated
from tests.integration.platform_app.conftest import PChain, asking, nothing_remembered, pchain
from xchain_app.models import XAsset, XOutput, XOutputKind

__all__ = ["nothing_remembered", "pchain"]

OTHER = address_of(VMRQ_KEY)


@pytest.fixture
def node(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer the command's calls as the running node, which makes a block for each transaction."""
    ask = asking(this_node().endpoints.xchain.dispatcher)

    def call(method: str, **params: object) -> Any:
        found = ask(f"avm.{method}", **params)
        if method == "issueTx":
            pchain.now += 1
            assert this_node().avm_runtime.consensus.produce(now=pchain.now) is not None
        return found

    monkeypatch.setattr(asset, "_call", call)


def create(*arguments: str) -> tuple[XAsset, list[XOutput]]:
    """Run the command; return the asset and its unspent outputs."""
    known = set(XAsset.objects.values_list("pk", flat=True))
    call_command("asset", "create", *arguments, stdout=StringIO())
    (made,) = XAsset.objects.exclude(pk__in=known)
    return made, list(XOutput.objects.filter(asset_id=made.pk).order_by("output_index"))


@pytest.mark.usefixtures("node")
def test_assets_of_each_kind_are_created(capsys: pytest.CaptureFixture[str]) -> None:
    other = this_node().avm_chain.address(OTHER)
    gold, (coins,) = create("Gold", "GLD", "--amount", "12.5", "--decimals", "2", "--to", other)
    assert (gold.name, gold.symbol, gold.denomination) == ("Gold", "GLD", 2)
    assert (coins.kind, coins.amount) == (XOutputKind.COINS, 1250)
    assert OTHER in coins.output
    said = capsys.readouterr().out
    assert f"/x/asset/{gold.asset_id}" in said
    assert "coins with a fixed cap" in said

    _, outputs = create("Oil", "OIL", "--amount", "7", "--mintable")
    assert [item.kind for item in outputs] == [XOutputKind.MINT_RIGHT, XOutputKind.COINS]
    assert "coins without a cap" in capsys.readouterr().out
    _, rights = create("Huts", "HUT", "--collectibles", "3", "--minter", other)
    assert [(item.kind, item.group_id) for item in rights] == [
        (XOutputKind.NFT_MINT_RIGHT, group) for group in range(3)
    ]
    assert "collectibles of 3 groups" in capsys.readouterr().out


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Write either --amount or --mintable"),
        (("--amount", "1", "--collectibles", "2"), "Write either --amount or --mintable"),
        (("--collectibles", "2", "--decimals", "1"), "Collectibles have no decimals"),
        (("--mintable", "--to", "X-me"), "--to needs --amount"),
        (("--collectibles", "2", "--to", "X-me"), "--to needs --amount"),
        (("--amount", "1", "--minter", "X-me"), "--minter needs --mintable or --collectibles"),
        (("--amount", "0.5"), "0.5 has more than 0 decimals"),
        (("--amount", "18446744073709551616"), "do not fit into 64 bits"),
        (("--amount", "1", "--to", "X-me"), "X-me is not an address of the X-Chain"),
        (("--amount", "0"), "the amount is above 0"),
        (("--amount", "many"), "'many' is not a number"),
        (("--amount", "1e999999999"), "does not fit into 64 bits"),
        (("--amount", "1", "--decimals", "33"), "the number of decimals is 0 to 32"),
        (("--amount", "1", "--decimals", "-1"), "the number of decimals is 0 to 32"),
        (("--collectibles", "0"), "the number of groups is 1 to 1024"),
    ],
)
def test_wrong_arguments_are_refused(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        create("Gold", "GLD", *arguments)


@pytest.mark.usefixtures("node")
def test_address_of_another_chain_is_refused() -> None:
    elsewhere = this_node().avm_chain.address(ShortID(bytes(20))).replace("X-", "P-")
    with pytest.raises(CommandError, match="is not an address of the X-Chain"):
        create("Gold", "GLD", "--amount", "1", "--to", elsewhere)


def test_only_a_local_networks_key_pays(settings: Any) -> None:
    settings.NODE = updated(settings.NODE, network_id=5)
    with pytest.raises(CommandError, match="on other networks create assets with a wallet"):
        call_command("asset", "create", "Gold", "GLD", "--amount", "1")


def test_stopped_node_is_reported(settings: Any) -> None:
    settings.NODE = updated(settings.NODE, http_port=1)
    with pytest.raises(CommandError, match="start it first"):
        asset._call("getTxStatus", txID=str(ID(bytes(32))))  # what the command calls
