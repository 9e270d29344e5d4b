"""What `runnode` says when it starts: where everything is, and the keys of a local network."""

from collections.abc import Iterator
from typing import Final

from rich.markup import escape

from cchain_app.accounts.keyring import EWOQ, are_known
from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks, development
from chaindb.chains import Chain
from nodeproject.addresses import base_url
from nodeproject.facts import print_facts
from nodeproject.initialise import password_file
from nodeproject.node import Node
from platform_app.chain import PlatformChain
from primitives.addresses import format_address
from primitives.hexadecimal import checksum_address
from primitives.keys import DEV_KEYS, PLATFORM_DEV_KEYS, address_of, format_private_key
from primitives.networks import LOCAL
from primitives.product import NAME, VERSION

MOST_ACCOUNTS: Final = 20
"""So many are shown when the node starts."""


def print_banner(node: Node) -> None:
    """Print URLs, chain IDs and the admin's password file; keys on the local network only."""
    settings, evm, platform = node.settings, node.evm_chain, node.platform_chain
    base = base_url(settings)
    mining = development.mining(evm) if blocks.are_made(evm) else "off: the C-Chain was imported"
    facts = {
        "P-Chain RPC": f"{base}/ext/bc/P",
        "C-Chain RPC": f"{base}/ext/bc/C/rpc, and {base}",
        "C-Chain WebSocket": f"ws{base[4:]}/ext/bc/C/ws, and ws{base[4:]}",
        "Admin": f"{base}/admin/",
        "Admin login": f"user {settings.admin_user}, password in {password_file(settings)}",
        "Network": f"{settings.network_id}, chain ID {evm.config.chain_id}",
        "Node ID": str(platform.node_id),
        "Heads": f"C-Chain block {blocks.head(evm).number}, P-Chain block {platform.tip().height}",
        "Engine": evm.engine.name,
        "Data": f"{settings.directory} ({settings.profile} profile, mining {mining})",
    }
    if (fork := evm.fork) is not None:
        facts["Fork"] = f"of block {fork.number} of {fork.url}; no other node follows"
    if not Chain.C.is_here:
        facts |= dict.fromkeys(("C-Chain RPC", "C-Chain WebSocket"), "none: " + Chain.C.absence)
    print_facts(f"{NAME} {VERSION}", {name: escape(value) for name, value in facts.items()})
    if settings.network_id == LOCAL:
        print_facts(
            "Accounts and their private keys (public: for this local network only)",
            dict(shown_accounts(evm)),
        )
        print_facts(
            "Funded on the P-Chain, with their private keys (likewise)",
            dict(_platform_keys(platform)),
        )


def print_listening(host: str, port: int) -> None:
    """Print the line that programs wait for: from now on connections are accepted."""
    print(f"Listening on {f'[{host}]' if ':' in host else host}:{port}", flush=True)  # for programs


def shown_accounts(chain: EvmChain) -> Iterator[tuple[str, str]]:
    """Walk the accounts that the node signs for, each with its key if everybody knows that.

    Keys of a mnemonic of somebody's own are secrets, and are not shown. A node that votes or follows signs for none:
    its accounts are those that everybody has the keys of and the chain began with.
    """
    node, keyring = chain.node, chain.keyring
    if not keyring:
        for address, key in DEV_KEYS.items():
            if address in chain.genesis.alloc:
                yield checksum_address(address), key
        return
    known = are_known(node.mnemonic, node.derivation_path)
    for address in keyring.addresses[:MOST_ACCOUNTS]:
        public = known or address == EWOQ
        key = f"0x{keyring.key_of(address).hex()}" if public else "its key is NODE_MNEMONIC's"
        poor = "" if address in chain.genesis.alloc else " (no coins: the chain began without it)"
        yield checksum_address(address), key + poor
    if len(keyring) > MOST_ACCOUNTS:
        yield "…", f"{len(keyring) - MOST_ACCOUNTS} more: eth_accounts lists them"


def _platform_keys(chain: PlatformChain) -> Iterator[tuple[str, str]]:
    """Walk the keys that a local network's genesis gives coins on the P-Chain."""
    hrp = chain.config.hrp
    for key in PLATFORM_DEV_KEYS:
        yield format_address("P", hrp, address_of(key)), format_private_key(key)
