"""The files of a local node in Anvil's formats: NODE_STATE, NODE_LOAD_STATE, NODE_DUMP_STATE and NODE_CONFIG_OUT.

NODE_STATE holds the state of a local chain, loaded when the chain begins and written when the node ends (devnet.md 8 and
14); gzipped files, as from anvil_dumpState, are accepted too. NODE_LOAD_STATE and NODE_DUMP_STATE are for one of both
alone. NODE_CONFIG_OUT is written at the start, with accounts, keys
and fees for other programs.
"""

import json
import logging
import os
import threading
from pathlib import Path
from typing import Any, Final

from django.db import DatabaseError

from cchain_app.api.eth.fees import gas_price, next_base_fee
from cchain_app.chain import EvmChain
from cchain_app.development.errors import DevelopmentError
from cchain_app.selectors import blocks
from cchain_app.services.snapshots import dump_state, load_state
from chaindb.connections import release
from nodeproject.node import Node
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.process import CannotStart, StartReason
from primitives.hexadecimal import checksum_address
from primitives.networks import LOCAL
from primitives.whole_files import write_whole

DUMP_NAME: Final = "state.json"
"""The name of the file in a directory that NODE_DUMP_STATE names, as in Anvil."""

_log: Final = logging.getLogger(__name__)


class StateFiles:
    """The files from which a node loads its local chain's state, and to which it writes it.

    Args:
        chain: The chain.
        settings: The node's settings.
    """

    def __init__(self, chain: EvmChain, settings: NodeSettings) -> None:
        self._chain = chain
        self._loaded = settings.load_state or settings.state
        self._must_exist = bool(settings.load_state)
        self._dumped = settings.dump_state or settings.state
        self._interval = settings.state_interval
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def load(self) -> str | None:
        """Load the state; return a notice for the operator, if any.

        Raises:
            CannotStart: The chain has no development methods, or the file cannot be read.
        """
        if self._loaded or self._dumped:
            verify_has_state(self._chain)
        if not self._loaded:
            return None
        return load_state_file(self._chain, Path(self._loaded), must_exist=self._must_exist)

    def start(self) -> None:
        """Write the state every NODE_STATE_INTERVAL seconds from now on, in a thread."""
        if self._dumped and self._interval:
            self._thread = threading.Thread(target=self._run, name="state-dump", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()

    def dump(self) -> str | None:
        """Write the state; return the error message if that fails."""
        if not self._dumped:
            return None
        path = Path(self._dumped)
        return save_state_file(self._chain, path / DUMP_NAME if path.is_dir() else path)

    def _run(self) -> None:
        while not self._ending.wait(self._interval):
            try:
                if problem := self.dump():
                    _log.warning("%s", problem)
            finally:
                release()


def verify_has_state(chain: EvmChain) -> None:
    """Verify that a chain's state can be loaded and dumped.

    Raises:
        CannotStart: The chain has no development methods.
    """
    if not chain.is_development:
        raise CannotStart(StartReason.STATE_NEEDS_LOCAL_CHAIN)
    if not chain.has_development_methods:
        raise CannotStart(StartReason.STATE_NEEDS_EMBEDDED_PROFILE)


def load_state_file(chain: EvmChain, path: Path, *, must_exist: bool = False) -> str | None:
    """Load the file into a chain that has no blocks yet; return a notice for the operator, if any.

    Unspecified: a chain with blocks continues with its own state, which is stored on disk, unlike Anvil's.

    Raises:
        CannotStart: The chain has no development methods, or the file cannot be read.
    """
    verify_has_state(chain)
    if not path.exists() and not must_exist:
        return None
    if blocks.head(chain).number > chain.first_number:
        return f"{path} is not loaded: the chain here already has blocks and keeps its state."
    try:
        load_state(chain, path.read_bytes())
    except (OSError, DevelopmentError) as error:
        raise CannotStart(StartReason.STATE_UNUSABLE, path=path, cause=error) from error
    return None


def save_state_file(chain: EvmChain, path: Path) -> str | None:
    """Write the state at the head to the file, atomically; return the error message if that fails."""
    try:
        write_whole(path, dump_state(chain))
    except OSError as error:
        return f"The state was not written: {path}: {error.strerror or error}"
    except DatabaseError as error:
        return f"The state was not written: {path}: {error}"
    return None


def write_config(node: Node, path: Path) -> None:
    """Replace the file atomically.

    Raises:
        CannotStart: The keys of this network are not public, or the file cannot be written.
    """
    if node.settings.common.network_id != LOCAL:
        raise CannotStart(StartReason.CONFIG_OUT_HAS_KEYS)
    text = json.dumps(config_of(node), indent=2) + "\n"
    try:
        write_whole(path, text.encode())
    except OSError as error:
        cause = os.strerror(error.errno or 0)
        raise CannotStart(StartReason.CONFIG_OUT_UNWRITABLE, path=path, cause=cause) from error


def config_of(node: Node) -> dict[str, Any]:
    """Return the content of the file; amounts are decimal texts, in wei.

    Unspecified: the accounts of the mnemonic come first, because scripts count them, and "ewoq" after them.
    """
    keyring, head = node.evm_chain.keyring, blocks.head(node.evm_chain).header
    mnemonic, path = node.settings.cchain.local.mnemonic, node.settings.cchain.local.derivation_path
    return {
        "available_accounts": [checksum_address(address) for address in keyring.addresses],
        "private_keys": [f"0x{keyring.key_of(item).hex()}" for item in keyring.addresses],
        "wallet": {"mnemonic": mnemonic, "derivation_path": path},
        "mnemonic": mnemonic,
        "chain_id": node.evm_chain.config.chain_id,
        "base_fee": str(next_base_fee(node.evm_rpc)),
        "gas_limit": str(head.gas_limit),
        "gas_price": str(int(gas_price(node.evm_rpc), 16)),
        "genesis_timestamp": str(_began(node)),
    }


def _began(node: Node) -> int:
    genesis = blocks.by_number(node.evm_chain, node.evm_chain.first_number)
    assert genesis is not None, "a chain that has a head has a genesis"
    return genesis.header.timestamp
