"""Chains seeded for measurements: their content as clients see it, and refused options."""

import json
import os
import subprocess
import sys
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from cchain_app.apps import evm_chain
from cchain_app.models import Call
from cchain_app.selectors import blocks
from cchain_app.selectors.state import state_at
from chaindb import clock
from explorer_app.models import RankedAccount
from explorer_app.selectors import token_logs
from nodeproject.apps import this_node
from nodeproject.management.seeding_payments import FUNDER, owner
from nodeproject.management.seeding_transfers import TransferSender, submit
from primitives.addresses import format_address
from tests.builders.node_settings import updated
from tests.conformance.coreth_vectors import document
from tests.integration.platform_app.conftest import Rpc, asking
from tests.servers.node import ROOT

HOLDER = format_address("P", "local", owner("some holder").short_id)


@pytest.fixture
def fresh(transactional_db: None, node_settings: Any, settings: Any, tmp_path: Path) -> Rpc:
    """An empty data directory; return a caller of `platform.*` for the resulting chain."""
    genesis = str(tmp_path / "genesis.json")
    settings.NODE = updated(settings.NODE, data_dir=str(tmp_path), platform_genesis=genesis)

    def ask(method: str, **params: Any) -> Any:
        return asking(this_node().endpoints.platform.dispatcher)(method, **params)

    return ask


def seed(subject: str, **numbers: object) -> str:
    out = StringIO()
    options = [
        f"--{name}" if value is True else f"--{name}={value}" for name, value in numbers.items()
    ]
    call_command(f"seed_{subject}", *options, stdout=out)
    return out.getvalue()


def seed_platform(past: int) -> str:
    return seed(
        "platform", validators=3, delegators=6, apart=5_400, coins=4, holder=HOLDER, past=past
    )


def test_a_seeded_p_chain_has_stakers_outputs_and_a_past(fresh: Rpc, settings: Any) -> None:
    before = seed_platform(past=0)
    height = int(fresh("platform.getHeight")["height"])
    assert before == f"The P-Chain's last block is {height}.\n"

    settings.NODE = updated(settings.NODE, platform_genesis="")  # the database contains it
    seed_platform(past=5)

    validators = fresh("platform.getCurrentValidators")["validators"]
    assert sorted(int(other["delegatorCount"]) for other in validators) == [0, 2, 2, 2]
    ends = sorted(int(validator["endTime"]) for validator in validators)
    assert {after - one for one, after in pairwise(ends)} == {5_400}
    balance = fresh("platform.getBalance", address=HOLDER)
    assert (balance["balance"], len(balance["utxoIDs"])) == ("4000000", 4)
    assert len({item["txID"] for item in balance["utxoIDs"]}) == 4
    # Each past staker has a proposal and its option.
    added = int(fresh("platform.getHeight")["height"]) - height
    assert added >= 2 * 5


def test_past_stakers_left_block_by_block(fresh: Rpc) -> None:
    seed_platform(past=5)

    height = int(fresh("platform.getHeight")["height"])
    kinds, paid = [], set()
    for at in range(height - 9, height + 1):
        block = fresh("platform.getBlockByHeight", height=at, encoding="json")["block"]
        kinds.append("tx" in block or bool(block.get("txs")))
        if "tx" in block:
            rewarded = block["tx"]["unsignedTx"]["txID"]
            paid |= {fresh("platform.getRewardUTXOs", txID=rewarded)["numFetched"]}
    assert kinds == [True, False] * 5
    assert paid == {"1"}


@pytest.mark.node_settings(mining="manual")
def test_a_seeded_history_matches_its_report(fresh: Rpc, settings: Any) -> None:
    settings.NODE = updated(settings.NODE, platform_genesis="")  # the network's own
    told = seed("history", empty=2, light=2, transfers=3, platform=2, payments=2)

    empty, light, platform = json.loads(told)
    assert (empty["chain"], empty["low"], empty["high"], empty["transactions"]) == ("C", 0, 2, 0)
    assert (light["chain"], light["high"] - light["low"], light["transactions"]) == ("C", 2, 6)
    assert blocks.catch_up(evm_chain()).number == light["high"]
    assert platform["transactions"] == 4
    assert int(fresh("platform.getHeight")["height"]) == platform["high"]
    last = fresh("platform.getBlockByHeight", height=platform["high"], encoding="json")["block"]
    assert len(last["txs"]) == 2


DIRECT = {
    "empty": 1, "light": 3, "transfers": 2, "platform": 0, "payments": 1,
    "recipients": 4, "together": 2, "interval": 5, "ago": 1_000,
}  # fmt: skip


@pytest.mark.node_settings(mining="manual")
def test_blocks_committed_together_are_like_others(fresh: Rpc, settings: Any) -> None:
    settings.NODE = updated(settings.NODE, platform_genesis="")
    began = clock.cchain_now()
    for high in (5, 9):  # the block that funds the senders is in the first history only
        _, light, _ = json.loads(seed("history", **DIRECT))
        assert (light["low"], light["high"], light["transactions"]) == (high - 3, high, 6)

    chain = evm_chain()
    made = [stored for at in range(1, 10) if (stored := blocks.by_number(chain, at)) is not None]
    assert [len(block.transactions) for block in made] == [0, 2, 2, 2, 2, 0, 2, 2, 2]
    times = [block.header.timestamp for block in made]
    assert began - 1_000 <= times[0] <= began - 990
    assert [late - early for early, late in pairwise(times)] == [5] * 8
    assert times[-1] <= clock.cchain_now()
    # Twelve transfers of one wei in turn: each of four recipients has three.
    paid = {tx.to for block in made[2:] for tx in block.transactions}
    state = state_at(chain, 9)
    assert [account.balance for to in paid if to and (account := state.account(to))] == [3] * 4
    assert all(receipt.succeeded for block in made for receipt in block.receipts)
    assert chain.memory.blocks.head.hash == made[-1].hash
    seed("history", **{**DIRECT, "empty": 0, "light": 0}, indexes=True)
    assert (Call.objects.count(), RankedAccount.objects.filter(balance=3).count()) == (14, 4)
    assert token_logs.state_of_index(chain, clock.wall()).height == 9


@pytest.mark.node_settings(mining="manual")
def test_pending_transactions_keep_blocks_from_being_made_directly(
    fresh: Rpc, settings: Any
) -> None:
    settings.NODE = updated(settings.NODE, platform_genesis="")
    seed("history", **{**DIRECT, "light": 0})
    submit([TransferSender(FUNDER).pay(FUNDER.address, 1)])
    with pytest.raises(CommandError, match=r"^transactions are pending: start with an empty pool$"):
        seed("history", **{**DIRECT, "light": 0})
    assert blocks.catch_up(evm_chain()).number == 1


@pytest.mark.node_settings(mining="manual")
@pytest.mark.parametrize(("name", "number", "least"), [("recipients", 0, 1), ("together", -1, 0)])
def test_numbers_of_a_history_have_a_minimum(
    fresh: Rpc, name: str, number: int, least: int
) -> None:
    with pytest.raises(
        CommandError, match=rf"^--{name} is {number}: it must be at least {least}\.$"
    ):
        seed("history", **{**DIRECT, name: number})


@pytest.mark.sqlite_only  # a new file of its own
def test_a_history_is_seeded_into_an_empty_directory(tmp_path: Path) -> None:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("NODE_")}
    inherited.pop("DJANGO_SETTINGS_MODULE", None)
    options = [f"--{name}={value}" for name, value in DIRECT.items()]
    done = subprocess.run(
        [sys.executable, "manage.py", "seed_history", *options],
        cwd=ROOT,
        env={**inherited, "NODE_DATA_DIR": str(tmp_path / "data"), "NODE_MINING": "manual"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    _, light, _ = json.loads(done.stdout)
    assert light["transactions"] == 6


@pytest.mark.node_settings(mining="manual")
def test_a_history_does_not_begin_before_1970(fresh: Rpc) -> None:
    with pytest.raises(
        CommandError, match=r"^--ago is 9000000000: it must be at most \d+, since 1970\.$"
    ):
        seed("history", **{**DIRECT, "ago": 9_000_000_000})


@pytest.mark.node_settings(network_id=1)
@pytest.mark.parametrize("subject", ["platform", "history"])
def test_only_a_local_network_is_seeded(fresh: Rpc, subject: str) -> None:
    numbers = {} if subject == "platform" else dict.fromkeys(
        ("empty", "light", "transfers", "platform", "payments"), 1
    )  # fmt: skip
    with pytest.raises(
        CommandError, match=r"^Only a local network is seeded: NODE_NETWORK_ID is not 12345\.$"
    ):
        seed(subject, **numbers)


def test_seeding_beside_block_production_is_refused(fresh: Rpc) -> None:
    numbers = dict.fromkeys(("empty", "light", "transfers", "platform", "payments"), 1)
    with pytest.raises(
        CommandError,
        match=r"^Nothing else may produce blocks meanwhile: set NODE_MINING to manual\.$",
    ):
        seed("history", **numbers)


def test_coins_need_a_holder(fresh: Rpc) -> None:
    with pytest.raises(CommandError, match=r"^--coins needs a --holder\.$"):
        seed("platform", coins=1)
    with pytest.raises(CommandError, match=r"--holder: no separator found in address$"):
        seed("platform", coins=1, holder="nobody")


def test_seeding_stakers_needs_a_genesis_path(fresh: Rpc, settings: Any) -> None:
    settings.NODE = updated(settings.NODE, platform_genesis="")
    with pytest.raises(
        CommandError,
        match=r"^NODE_PLATFORM_GENESIS must name the path to which the genesis file is written\.$",
    ):
        seed("platform", validators=1)


def recorded(tmp_path: Path, count: int) -> Path:
    """Return a file with the first blocks of the recorded network of avalanchego nodes."""
    path = tmp_path / "blocks.txt"
    blocks_of_network = document("local_chain")["blocks"][1 : count + 1]
    path.write_text("\n".join(entry["blockRLP"] for entry in blocks_of_network))
    return path


def test_recorded_blocks_of_avalanchego_are_followed(
    fresh: Rpc, settings: Any, tmp_path: Path
) -> None:
    settings.NODE = updated(
        settings.NODE, platform_genesis="", parameters="avalanchego", consensus="snowman"
    )
    out = StringIO()
    call_command("seed_coreth", str(recorded(tmp_path, 25)), stdout=out)
    totals = json.loads(out.getvalue())
    assert (totals["blocks"], blocks.head(evm_chain()).number) == (25, 25)
    assert totals["gas"] > totals["transactions"] * 21_000
    with pytest.raises(CommandError, match="is refused"):
        call_command("seed_coreth", str(recorded(tmp_path, 1)), stdout=out)


def test_recorded_blocks_need_the_settings_of_their_network(fresh: Rpc, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="NODE_PARAMETERS to avalanchego"):
        call_command("seed_coreth", str(recorded(tmp_path, 1)))
