"""The file for other programs that a local node writes at its start: accounts, keys and fees, as in Anvil."""

import json
import os
from pathlib import Path
from typing import Any

from cchain_app.api.eth.fees import gas_price, next_base_fee
from cchain_app.selectors import blocks
from nodeproject.node import Node
from nodeproject.startup.process import CannotStart, StartReason
from primitives.hexadecimal import checksum_address
from primitives.networks import LOCAL
from primitives.whole_files import write_whole


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
