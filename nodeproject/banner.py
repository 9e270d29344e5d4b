"""What `runnode` says when it starts: where everything is, and the keys of a local network."""

from django.conf import settings
from rich.markup import escape

from cchain_app import runtime
from cchain_app.selectors import blocks
from nodeproject.facts import print_facts
from nodeproject.initialise import password_file
from primitives.devkeys import DEV_KEYS
from primitives.hexadecimal import checksum_address

LOCAL_NETWORK = 12345


def print_banner() -> None:
    """Print URLs, chain IDs and the admin's password file; keys on the local network only."""
    node = settings.NODE
    base = f"http://{node.http_host}:{node.http_port}"
    facts = {
        "C-Chain RPC": f"{base}/ext/bc/C/rpc",
        "C-Chain WebSocket": f"ws{base[4:]}/ext/bc/C/ws",
        "Admin": f"{base}/admin/",
        "Admin login": f"user {node.admin_user}, password in {password_file()}",
        "Network": f"{node.network_id}, chain ID {runtime.config().chain_id}",
        "Head": f"block {blocks.head().number}",
        "Engine": runtime.engine().name,
        "Data": f"{node.directory} ({node.profile} profile, mining {node.mining})",
    }
    print_facts("Node", {name: escape(value) for name, value in facts.items()})
    if node.network_id == LOCAL_NETWORK:
        print_facts(
            "Funded accounts and their private keys (public: for this local network only)",
            {checksum_address(address): key for address, key in DEV_KEYS.items()},
        )
