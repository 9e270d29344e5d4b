"""What `runnode` says when it starts: where everything is, and the keys of a local network."""

from django.conf import settings
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from cchain_app import runtime
from cchain_app.selectors import blocks
from nodeproject.initialise import password_file
from primitives.devkeys import DEV_KEYS
from primitives.hexadecimal import checksum_address

LOCAL_NETWORK = 12345


def print_banner() -> None:
    """Print URLs, chain IDs and the admin's password file; keys on the local network only."""
    node = settings.NODE
    base = f"http://{node.http_host}:{node.http_port}"
    facts = Table.grid(padding=(0, 2))
    for name, value in (
        ("C-Chain RPC", f"{base}/ext/bc/C/rpc"),
        ("C-Chain WebSocket", f"ws{base[4:]}/ext/bc/C/ws"),
        ("Admin", f"{base}/admin/  (user {node.admin_user}, password in {password_file()})"),
        ("Network", f"{node.network_id}, chain ID {runtime.config().chain_id}"),
        ("Head", f"block {blocks.head().number}"),
        ("Engine", runtime.engine().name),
        ("Data", f"{node.directory}  ({node.profile} profile, mining {node.mining})"),
    ):
        facts.add_row(f"[bold]{name}[/bold]", value)
    console = Console(soft_wrap=True)
    console.print(Panel(facts, title="Node", expand=False))
    if node.network_id == LOCAL_NETWORK:
        _print_keys(console)


def _print_keys(console: Console) -> None:
    """Print the funded accounts whole: people copy them."""
    console.print("[bold]Funded accounts[/bold]  (address, private key)")
    for address, key in DEV_KEYS.items():
        console.print(f"  {checksum_address(address)}  {key}", highlight=False)
    console.print("[yellow]These keys are public: they are for this local network only.[/yellow]")
