"""Methods that coreth has besides those of Ethereum clients, and fees as coreth suggests them."""

from typing import Any

import pytest

from cchain_app.rules.coreth.gas_state import desired_target_excess
from cchain_app.rules.coreth.min_delay import desired_excess
from cchain_app.rules.coreth.rules import CorethRules
from cchain_app.rules.coreth.votes import NO_VOTES, Votes
from cchain_app.selectors import blocks
from chaindb import clock
from primitives.hexadecimal import encode_data
from primitives.upgrades import ACTIVE, NEVER
from tests.builders.bytecode import assemble
from tests.builders.coreth import local_genesis
from tests.conformance.coreth_vectors import document
from tests.integration.cchain_app.coreth.follower import Follower, chain_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite_only]

CONTRACT = "0x" + "aa" * 20
SEVEN = encode_data((7).to_bytes(32))


@pytest.fixture(params=["native", "reference"])
def follower(request: pytest.FixtureRequest) -> Follower:
    """A node at the genesis."""
    return Follower(chain_of(local_genesis().encode(), engine=request.param))


def detailed(follower: Follower, code: bytes, **call: Any) -> Any:
    """Return what eth_callDetailed answers for a call of a contract with this code."""
    overrides = {CONTRACT: {"code": encode_data(code)}}
    return follower.ask("eth_callDetailed", {"to": CONTRACT, **call}, "latest", overrides)


def test_call_detailed(follower: Follower) -> None:
    seven = assemble("7 0 MSTORE 32 0 RETURN")
    answer = detailed(follower, seven)
    assert answer["gas"] > 21_000
    assert answer == {"gas": answer["gas"], "errCode": 0, "err": "", "returnData": SEVEN}

    reverting = assemble("7 0 MSTORE 32 0 REVERT")
    answer = detailed(follower, reverting)
    assert answer == {
        "gas": answer["gas"], "errCode": 3, "err": "execution reverted", "returnData": SEVEN,
    }  # fmt: skip

    silent = assemble("0 0 REVERT")
    assert detailed(follower, silent)["errCode"] == 0
    assert detailed(follower, silent)["err"] == "execution reverted"

    endless = assemble("JUMPDEST 0 JUMP")
    answer = detailed(follower, endless, gas=hex(30_000))
    assert answer == {"gas": 30_000, "errCode": 0, "err": "out of gas", "returnData": "0x"}


def test_call_detailed_needs_a_block_and_funds(follower: Follower) -> None:
    assert follower.ask("eth_callDetailed", {"to": CONTRACT})["code"] == -32602
    refused = detailed(follower, b"\x00", value=hex(10**30))
    assert refused["code"] == -32000
    assert "insufficient funds" in refused["message"]


def test_active_rules(follower: Follower) -> None:
    found = follower.ask("eth_getActiveRulesAt")
    assert found["precompiles"] == {"warpConfig": {"timestamp": ACTIVE}}
    assert found["ethRules"]["ChainID"] == follower.chain.config.chain_id
    assert found["ethRules"]["IsCancun"]
    assert not found["ethRules"]["IsPrague"]
    names = {name for name, holds in found["avalancheRules"].items() if not holds}
    assert names == {"IsHelicon"}
    assert follower.ask("eth_getActiveRulesAt", "latest") == found
    assert follower.ask("eth_getActiveRulesAt", ACTIVE) == found

    before = follower.ask("eth_getActiveRulesAt", hex(ACTIVE - 1))
    assert not any(before["avalancheRules"].values())
    assert before["precompiles"] == {}
    assert follower.ask("eth_getActiveRulesAt", NEVER)["avalancheRules"]["IsHelicon"]


def test_bad_blocks_are_not_kept(follower: Follower) -> None:
    assert follower.ask("eth_getBadBlocks") == []


def test_the_suggested_tip_follows_recent_blocks(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower.follow(document("local_chain")["blocks"][1:12])
    head = blocks.head(follower.chain)
    assert follower.ask("eth_maxPriorityFeePerGas") == "0x1", "all blocks are old"

    again = Follower(chain_of(local_genesis().encode()))
    monkeypatch.setattr(clock, "cchain_now", lambda: head.header.timestamp + 5)
    recent = [
        block
        for number in range(1, head.number + 1)
        if (block := blocks.by_number(again.chain, number)) is not None
        and block.header.timestamp + 80 >= head.header.timestamp + 5
    ]
    tips = sorted(
        transaction.effective_tip(block.header.base_fee or 0)
        for block in recent
        for transaction in block.transactions
    )
    assert tips
    wanted = max(1, tips[(len(tips) - 1) * 40 // 100])
    assert follower_tip(again) == wanted


def follower_tip(follower: Follower) -> int:
    return int(follower.ask("eth_maxPriorityFeePerGas"), 16)


def test_price_options_follow_their_settings() -> None:
    options = {
        "price_options_slow_fee_percentage": 50, "price_options_fast_fee_percentage": 900,
        "price_options_max_tip": 3,
    }  # fmt: skip
    follower = Follower(chain_of(local_genesis().encode(), **options))
    found = follower.ask("eth_suggestPriceOptions")
    tips = {name: int(one["maxPriorityFeePerGas"], 16) for name, one in found.items()}
    assert tips == {"slow": 1, "normal": 1, "fast": 9}
    for one in found.values():
        base = int(follower.ask("eth_baseFee"), 16)
        fee, tip = int(one["maxFeePerGas"], 16), int(one["maxPriorityFeePerGas"], 16)
        assert fee == 2 * base + tip


def test_settings_are_votes() -> None:
    plain = chain_of(local_genesis().encode()).rules
    assert isinstance(plain, CorethRules)
    assert plain.votes == NO_VOTES
    given = {"gas_target": 1_500_000, "min_delay_target": 1_000}
    rules = chain_of(local_genesis().encode(), **given).rules
    assert isinstance(rules, CorethRules)
    assert rules.votes == Votes(desired_target_excess(1_500_000), desired_excess(1_000))
