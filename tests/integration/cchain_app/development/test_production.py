"""A local chain of the production profile: it has no development methods, and keeps what older versions have set."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cchain_app import tasks
from cchain_app.api import NEEDS_EMBEDDED
from cchain_app.selectors import blocks, development
from cchain_app.selectors.state import state_at
from cchain_app.services import cheats, manual_mining
from chaindb.wakeup import Wakeup
from jsonrpc.errors import METHOD_NOT_FOUND, JsonRpcError
from nodeproject.management.local_files import load_state_file
from nodeproject.startup.process import CannotStart, StartReason
from primitives.evm import Address
from tests.builders.evm_chains import another_process
from tests.builders.node_settings import updated
from tests.builders.reasons import raises
from tests.integration.conftest import Chain, Rpc

SOMEBODY = Address(b"\x5a" * 20)
PRODUCTION = pytest.mark.node_settings(profile="production")
EMBEDDED = pytest.mark.node_settings(profile="embedded", mining="auto")
PLAIN = "the method {} does not exist/is not available"

METHODS = (
    "evm_mine", "evm_snapshot", "anvil_setBalance", "anvil_setLoggingEnabled", "hardhat_impersonateAccount",
    "tenderly_setBalance", "debug_clearTxpool", "eth_requestAccounts", "eth_sendTransaction", "eth_sign",
    "eth_signTypedData", "eth_signTypedData_v3", "eth_signTypedData_v4", "personal_newAccount", "personal_sign",
)  # fmt: skip


def refusal(rpc: Rpc, method: str) -> str:
    """Return the message of the error with which a method is refused as one that does not exist."""
    with pytest.raises(JsonRpcError) as refused:
        rpc(method)
    assert refused.value.code == METHOD_NOT_FOUND
    return refused.value.message


@PRODUCTION
@pytest.mark.parametrize("method", METHODS)
def test_the_error_names_the_embedded_profile(rpc: Rpc, chain: Chain, method: str) -> None:
    assert refusal(rpc, method) == f"{PLAIN.format(method)}: {NEEDS_EMBEDDED}"
    assert "NODE_PROFILE=embedded" in NEEDS_EMBEDDED


@PRODUCTION
def test_other_methods_are_unchanged(rpc: Rpc, chain: Chain) -> None:
    assert refusal(rpc, "evm_nothing") == PLAIN.format("evm_nothing")
    assert rpc("eth_accounts") == []
    assert not {"evm", "anvil", "hardhat", "personal"} & set(rpc("rpc_modules"))
    made, block = chain.do(to=SOMEBODY, value=1)
    assert block.transactions == (made,)


@pytest.mark.parametrize(
    ("never", "reason"),
    [
        pytest.param(
            {"development": False},
            ": development methods are switched off (NODE_DEVELOPMENT)",
            id="switched off",
        ),
        pytest.param({"network_id": 5, "bootstrap": ()}, "", id="public"),
        pytest.param(
            {"consensus": "snowman"},
            ": development methods do not exist where the validators vote (NODE_CONSENSUS)",
            id="voting",
        ),
        pytest.param(
            {"bootstrap": ("127.0.0.1:9651",)},
            ": development methods do not exist on a node that follows others (NODE_BOOTSTRAP)",
            id="following",
        ),
    ],
)
@pytest.mark.parametrize("profile", ["embedded", "production"])
def test_chains_that_never_have_them_name_the_setting(
    rpc: Rpc, settings: Any, never: dict[str, Any], reason: str, profile: str
) -> None:
    settings.NODE = updated(settings.NODE, profile=profile, **never)

    assert refusal(rpc, "evm_mine") == PLAIN.format("evm_mine") + reason


@pytest.fixture(autouse=True)
def requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The chains for which blocks were requested; the producer process would be woken by PostgreSQL."""
    found: list[str] = []
    monkeypatch.setattr(Wakeup, "request", lambda wakeup: found.append(wakeup.channel))
    return found


@EMBEDDED
def test_stored_block_overrides_apply_but_not_the_mining_mode(
    rpc: Rpc, chain: Chain, settings: Any
) -> None:
    """As after an update of a production node on which an older version has set it."""
    rpc("anvil_setCoinbase", f"0x{SOMEBODY.hex()}")
    rpc("anvil_setBalance", f"0x{SOMEBODY.hex()}", "0x7")
    rpc("evm_setIntervalMining", 3600)
    settings.NODE = updated(settings.NODE, profile="production")

    assert development.mining(chain.evm) == "auto"
    assert development.block_interval(chain.evm) == chain.evm.settings.block_interval
    made = chain.make(to=SOMEBODY, value=1)
    chain.send(made)
    tasks.produce_blocks()

    head = blocks.head(chain.evm)
    assert (head.transactions, head.header.coinbase) == ((made,), SOMEBODY)
    account = state_at(chain.evm, head.number).account(SOMEBODY)
    assert account is not None
    assert account.balance >= 8


@pytest.fixture
def producer(chain: Chain, settings: Any) -> Chain:
    """A chain that makes blocks on arrival, in one of several processes."""
    settings.NODE = updated(settings.NODE, profile="production", mining="auto")
    return chain


def test_a_pause_by_another_process_is_read_before_a_block_is_made(producer: Chain) -> None:
    producer.send(producer.make())
    assert development.mining(producer.evm) == "auto"
    other = another_process(producer.evm).chain

    manual_mining.pause(other)

    assert development.mining(producer.evm) == "auto", "no event is sent"
    assert tasks.produce_blocks() == {"blocks": 0}, "though it was requested before the pause"
    assert development.is_paused(producer.evm)
    manual_mining.resume(other)
    assert tasks.beat(producer.runtime) == {"blocks": 1}


def test_a_block_by_the_clock_is_not_made_where_that_was_paused(
    producer: Chain, settings: Any
) -> None:
    settings.NODE = updated(settings.NODE, mining="interval")
    assert tasks.beat(producer.runtime) == {"blocks": 1}

    manual_mining.pause(another_process(producer.evm).chain)

    assert tasks.beat(producer.runtime) == {"blocks": 0}


def test_a_transaction_that_arrives_in_a_pause_waits(producer: Chain, requests: list[str]) -> None:
    producer.send(producer.make())
    manual_mining.pause(another_process(producer.evm).chain)

    producer.send(producer.make())

    assert len(requests) == 1


def test_the_state_file_needs_the_embedded_profile(producer: Chain, tmp_path: Path) -> None:
    with raises(
        StartReason.STATE_NEEDS_EMBEDDED_PROFILE,
        kind=CannotStart,
        match="NODE_STATE, NODE_LOAD_STATE and NODE_DUMP_STATE need the embedded profile",
    ):
        load_state_file(producer.evm, tmp_path / "state.json")


def test_next_block_override_is_removed_after_its_block(chain: Chain, settings: Any) -> None:
    """It was set in the embedded profile, and another process makes the block."""
    fee = 7 * 10**9
    cheats.change_conditions(chain.evm, lambda found, _: replace(found, next_base_fee=fee))
    other = another_process(chain.evm).chain
    assert blocks.base_fee_after(other, blocks.head(other)) == fee

    chain.mine()
    head = blocks.catch_up(other)

    assert head.header.base_fee == fee
    assert development.conditions(other).next_base_fee is None
