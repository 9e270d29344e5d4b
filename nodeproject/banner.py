"""What `runnode` says when it starts: where everything is, and the keys of a local network."""

from collections.abc import Iterator

from django.conf import settings
from rich.markup import escape

from cchain_app.apps import evm_chain
from cchain_app.selectors import blocks
from chaindb.chains import Chain
from nodeproject.facts import print_facts
from nodeproject.initialise import password_file
from platform_app.apps import platform_chain
from primitives.addresses import format_address
from primitives.devkeys import DEV_KEYS, PLATFORM_DEV_KEYS
from primitives.hexadecimal import checksum_address
from primitives.keys import address_of, format_private_key
from primitives.networks import LOCAL


def print_banner() -> None:
    """Print URLs, chain IDs and the admin's password file; keys on the local network only."""
    node = settings.NODE
    base = f"http://{_reachable(node.http_host)}:{node.http_port}"
    facts = {
        "P-Chain RPC": f"{base}/ext/bc/P",
        "C-Chain RPC": f"{base}/ext/bc/C/rpc",
        "C-Chain WebSocket": f"ws{base[4:]}/ext/bc/C/ws",
        "Admin": f"{base}/admin/",
        "Admin login": f"user {node.admin_user}, password in {password_file()}",
        "Network": f"{node.network_id}, chain ID {evm_chain().config.chain_id}",
        "Node ID": str(platform_chain().node_id),
        "Heads": f"C-Chain block {blocks.head(evm_chain()).number}, P-Chain block {platform_chain().tip().height}",
        "Engine": evm_chain().engine.name,
        "Data": f"{node.directory} ({node.profile} profile, mining {node.mining})",
    }
    if not Chain.C.is_here:
        facts |= dict.fromkeys(("C-Chain RPC", "C-Chain WebSocket"), "none: " + Chain.C.absence)
    print_facts("Node", {name: escape(value) for name, value in facts.items()})
    if node.network_id == LOCAL:
        print_facts(
            "Funded accounts and their private keys (public: for this local network only)",
            {checksum_address(address): key for address, key in DEV_KEYS.items()},
        )
        print_facts(
            "Funded on the P-Chain, with their private keys (likewise)",
            dict(_platform_keys()),
        )


def _reachable(host: str) -> str:
    """Return where a browser on this machine finds what listens on an address: all of them is none."""
    ip = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # it is replaced
    return f"[{ip}]" if ":" in ip else ip


def _platform_keys() -> Iterator[tuple[str, str]]:
    """Walk the keys that a local network's genesis gives coins on the P-Chain."""
    hrp = platform_chain().config.hrp
    for key in PLATFORM_DEV_KEYS:
        yield format_address("P", hrp, address_of(key)), format_private_key(key)
