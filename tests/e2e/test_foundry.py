"""A Foundry project: forge script with unlocked accounts, forge test on a fork, and cast; compared with Anvil."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.development import (
    FOUNDRY,
    PROJECTS,
    RUN_SECONDS,
    Anvil,
    DevelopmentNode,
    DevelopmentServer,
    Outcome,
    assert_passes_as_on_anvil,
    copy_of_project,
    run_in,
    said_on_console,
)

FORGE = FOUNDRY / "forge-linux-amd64/bin/forge"
CAST = FOUNDRY / "cast-linux-amd64/bin/cast"
DEPLOYER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
ALICE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
ONE = 10**18
SENT = 10
"""Number of transactions in script/Deploy.s.sol."""
DEPLOYED = {"token": "TOKEN", "vault": "VAULT", "counter": "COUNTER", "fixed_": "FIXED_COUNTER"}
"""The return values of the script, and the variables through which the tests on a fork receive them."""

Cast = Callable[..., str]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # The project uses only the console of Hardhat's package.
    return copy_of_project("foundry", tmp_path_factory.mktemp("projects"), packages="hardhat2")


def forge(project: Path, server: DevelopmentServer, *arguments: str, **variables: str) -> str:
    env = {"NODE_URL": server.url, "FOUNDRY_SOLC": str(PROJECTS / "foundry/solc.mjs"), **variables}
    return run_in(project, [str(FORGE), *arguments, "--offline", "--fork-url", server.url], env)


def deploy(project: Path, server: DevelopmentServer, *options: str) -> Mapping[str, Any]:
    """Run the script; return forge's record of it: transactions, receipts, contracts."""
    arguments = ["--broadcast", "--unlocked", "--sender", DEPLOYER, *options]
    forge(project, server, "script", "script/Deploy.s.sol:Deploy", *arguments)
    records = list(project.glob("broadcast/Deploy.s.sol/*/run-latest.json"))
    if not records:
        printed = (project / "printed.log").read_text()
        pytest.fail(f"the script sent nothing:\n{printed}", pytrace=False)
    found: Mapping[str, Any] = json.loads(records[0].read_text())
    records[0].unlink()
    return found


def suite(project: Path, server: DevelopmentServer) -> Outcome:
    """Deploy with the script, then run all tests on forks of the result."""
    # The transactions are sent one after the other, because Anvil sometimes loses one of many concurrent ones.
    record = deploy(project, server, "--slow")
    assert [receipt["status"] for receipt in record["receipts"]] == ["0x1"] * SENT
    addresses = {variable: record["returns"][name]["value"] for name, variable in DEPLOYED.items()}
    height = str(int(record["receipts"][-1]["blockNumber"], 16))
    variables = {**addresses, "DEPLOYER": DEPLOYER, "HEIGHT": height}
    return Outcome.of_forge(
        forge(project, server, "test", "--json", "--threads", "1", "--match-contract", "ForkTest",
              "--fork-block-number", height, **variables)
    ) | Outcome.of_forge(
        forge(project, server, "test", "--json", "--threads", "1", "--match-contract", "NodeTest",
              **variables)
    )  # fmt: skip


@pytest.fixture(scope="module")
def there(project: Path, anvil: Anvil) -> Outcome:
    """The outcome on Anvil."""
    return suite(project, anvil)


@pytest.fixture(scope="module")
def here(project: Path, devnet: DevelopmentNode) -> Outcome:
    """The outcome on this node."""
    return suite(project, devnet)


def test_a_script_and_tests_on_a_fork_pass_as_on_anvil(here: Outcome, there: Outcome) -> None:
    assert len(there.cases) == 24
    assert_passes_as_on_anvil(here, there)


@pytest.mark.usefixtures("here", "there")
def test_contracts_are_heard_as_on_anvil(anvil: Anvil, devnet: DevelopmentNode) -> None:
    assert len(said_on_console(anvil)) > 7
    assert said_on_console(devnet) == said_on_console(anvil)


def test_a_scripts_transactions_get_in_all_at_once(
    project: Path, devnet: DevelopmentNode, here: Outcome
) -> None:
    assert here.cases
    again = {**os.environ, "ETH_RPC_URL": devnet.url}
    subprocess.run([CAST, "rpc", "anvil_reset"], env=again, check=True, capture_output=True)
    record = deploy(project, devnet)
    assert [receipt["status"] for receipt in record["receipts"]] == ["0x1"] * SENT


@pytest.fixture(params=["anvil", "devnet"])
def cast(request: pytest.FixtureRequest) -> Cast:
    """Runs cast against each of the two servers; a test that passes on Anvil alone shows a difference."""
    server: DevelopmentServer = request.getfixturevalue(request.param)

    def run(*arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            [CAST, *arguments],
            env={**os.environ, "ETH_RPC_URL": server.url},
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_SECONDS,
        )
        if check and done.returncode:
            pytest.fail(f"cast {' '.join(arguments)}:\n{done.stderr}", pytrace=False)
        return done.stdout if done.returncode == 0 else done.stderr

    return run


def number(text: str) -> int:
    """Read a number as cast prints it, in decimal and again in scientific notation."""
    return int(text.split(maxsplit=1)[0])


def test_cast_sends_by_accounts_of_the_node(cast: Cast) -> None:
    to = "0x00000000000000000000000000000000ca570001"
    receipt = json.loads(
        cast("send", to, "--value", "7", "--unlocked", "--from", DEPLOYER, "--json")
    )
    assert receipt["status"] == "0x1"
    assert number(cast("balance", to)) == 7
    listed = json.loads(cast("rpc", "eth_accounts"))
    assert DEPLOYER.lower() in [item.lower() for item in listed]


def test_cast_deploys_by_an_account_of_the_node(cast: Cast, contracts: dict[str, Any]) -> None:
    code = contracts["Ledger"]["bytecode"]
    options = ("--unlocked", "--from", ALICE, "--json")
    created = json.loads(
        cast("send", *options, "--create", code, "constructor(string)", "Main ledger")
    )
    address = created["contractAddress"]
    assert cast("call", address, "title()(string)").strip() == '"Main ledger"'
    cast("send", address, "store(uint256,uint256)", "5", "6", *options)
    assert number(cast("call", address, "slots(uint256)(uint256)", "5")) == 6
    refused = cast("send", address, "withdraw(uint256)", "9", *options, check=False)
    assert "revert" in refused


def test_cast_reports_a_mined_failure(cast: Cast, contracts: dict[str, Any]) -> None:
    code = contracts["Ledger"]["bytecode"]
    options = ("--unlocked", "--from", ALICE, "--json")
    created = json.loads(cast("send", *options, "--create", code, "constructor(string)", "x"))
    receipt = json.loads(
        cast("send", created["contractAddress"], "withdraw(uint256)", "9", *options,
             "--gas-limit", "100000")
    )  # fmt: skip
    assert receipt["status"] == "0x0"


def test_cast_sets_state(cast: Cast) -> None:
    to = "0x00000000000000000000000000000000ca570002"
    cast("rpc", "anvil_setBalance", to, hex(3 * ONE))
    cast("rpc", "anvil_setNonce", to, "0x9")
    cast("rpc", "anvil_setCode", to, "0x602a5f5260205ff3")
    cast("rpc", "anvil_setStorageAt", to, "0x1", "0x" + "2a".zfill(64))
    assert number(cast("balance", to)) == 3 * ONE
    assert number(cast("nonce", to)) == 9
    assert number(cast("call", to, "any()(uint256)")) == 42
    assert int(cast("storage", to, "1"), 16) == 42
    assert cast("code", to).strip() == "0x602a5f5260205ff3"


def test_cast_impersonates(cast: Cast) -> None:
    other = "0x00000000000000000000000000000000ca570003"
    cast("rpc", "anvil_setBalance", other, hex(ONE))
    cast("rpc", "anvil_impersonateAccount", other)
    receipt = json.loads(
        cast("send", DEPLOYER, "--value", "1", "--unlocked", "--from", other, "--json")
    )
    assert receipt["from"].lower() == other
    cast("rpc", "anvil_stopImpersonatingAccount", other)
    cast("send", DEPLOYER, "--unlocked", "--from", other, check=False)
    assert number(cast("nonce", other)) == 1


def test_cast_mines_and_moves_time(cast: Cast) -> None:
    height = number(cast("block-number"))
    before = number(cast("block", "latest", "--field", "timestamp"))
    cast("rpc", "evm_increaseTime", "3600")
    cast("rpc", "anvil_mine", "0x3")
    assert number(cast("block-number")) == height + 3
    assert number(cast("block", "latest", "--field", "timestamp")) >= before + 3600


def test_cast_reverts_to_a_snapshot(cast: Cast) -> None:
    to = "0x00000000000000000000000000000000ca570004"
    snapshot = json.loads(cast("rpc", "evm_snapshot"))
    height = number(cast("block-number"))
    cast("send", to, "--value", "7", "--unlocked", "--from", DEPLOYER)
    assert number(cast("block-number")) == height + 1
    assert json.loads(cast("rpc", "evm_revert", snapshot)) is True
    assert number(cast("block-number")) == height
    assert number(cast("balance", to)) == 0


def test_cast_sets_overrides_of_the_next_block(cast: Cast) -> None:
    to = "0x00000000000000000000000000000000ca570005"
    cast("rpc", "anvil_setCoinbase", to)
    cast("rpc", "anvil_setNextBlockBaseFeePerGas", hex(10**10))
    cast("rpc", "evm_setBlockGasLimit", hex(25_000_000))
    cast("rpc", "anvil_mine")
    block = json.loads(cast("block", "latest", "--json"))
    assert block["miner"].lower() == to
    assert int(block["baseFeePerGas"], 16) == 10**10
    assert int(block["gasLimit"], 16) == 25_000_000


def test_cast_drops_a_pending_transaction(cast: Cast) -> None:
    to = "0x00000000000000000000000000000000ca570006"
    cast("rpc", "evm_setAutomine", "false")
    try:
        options = ("--unlocked", "--from", ALICE, "--async", "--gas-limit", "21000")
        nonce = number(cast("nonce", ALICE))
        first, second = (
            cast(
                "send", to, *options, "--value", str(1 + index), "--nonce", str(nonce + index)
            ).strip()
            for index in range(2)
        )
        assert json.loads(cast("rpc", "txpool_status"))["pending"] == "0x2"
        cast("rpc", "anvil_dropTransaction", second)
        cast("rpc", "anvil_mine")
        assert json.loads(cast("receipt", first, "--json"))["status"] == "0x1"
    finally:
        cast("rpc", "evm_setAutomine", "true")
    assert number(cast("balance", to)) == 1


def test_cast_reads_node_info(cast: Cast) -> None:
    told = json.loads(cast("rpc", "anvil_nodeInfo"))
    assert set(told) >= {
        "currentBlockNumber", "currentBlockTimestamp", "currentBlockHash", "hardFork",
        "transactionOrder", "environment", "forkConfig",
    }  # fmt: skip
    assert cast("client").lower().startswith("anvil")
    assert number(cast("chain-id")) == 43112
