"""What commands print: lines of names and values, the banner of the start, and refusals in place of tracebacks."""

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import DatabaseError

from cchain_app.selectors import blocks, development
from chaindb.chains import C_CHAIN, absence, is_left_out
from explorer_app.selectors import known_accounts
from jsonrpc.dispatch.caller import naming
from nodeproject.copies.backup_manifest import BackupRefused, ChainsState
from nodeproject.node import Node
from nodeproject.startup.database import explained
from nodeproject.startup.log_format import shows_colours
from nodeproject.startup.process import CannotStart
from nodeproject.web.paths import base_url
from primitives.networks import LOCAL
from primitives.product import NAME, VERSION


def print_values(title: str, values: Mapping[str, str]) -> None:
    """Print a title and one aligned line per value, nothing without values; values may contain rich's markup."""
    if not values:
        return
    from rich.console import Console

    console = Console(soft_wrap=True, highlight=False)
    console.rule(f"[bold]{title}[/bold]", align="left")
    width = max(map(len, values))
    for name, value in values.items():
        console.print(f"  [bold]{name:<{width}}[/bold]  {value}")


def _print_section(title: str, values: Mapping[str, str]) -> None:
    """Print the same as `print_values` does, for values without markup: importing rich takes a twentieth of a start."""
    if not values:
        return
    bold, end = ("\x1b[1m", "\x1b[0m") if shows_colours(sys.stdout) else ("", "")
    line = "─" * (shutil.get_terminal_size().columns - len(title) - 1)
    print(f"{bold}{title}{end} {line}")
    width = max(map(len, values))
    for name, value in values.items():
        print(f"  {bold}{name:<{width}}{end}  {value}")


def print_banner(node: Node) -> None:
    """Print URLs, chain IDs and the admin's password file; keys only on the local network."""
    settings, evm, platform = node.settings, node.evm_chain, node.platform_chain
    base = base_url(settings)
    mining = development.mining(evm) if blocks.are_made(evm) else "off: the C-Chain was imported"
    values = {
        "P-Chain RPC": f"{base}/ext/bc/P",
        "C-Chain RPC": f"{base}/ext/bc/C/rpc, and {base}",
        "C-Chain WebSocket": f"ws{base[4:]}/ext/bc/C/ws, and ws{base[4:]}",
        "Admin": f"{base}/admin/",
        "Admin login": f"user {settings.admin_user}, password in {settings.password_path}",
        "Network": f"{settings.common.network_id}, chain ID {evm.config.chain_id}",
        "Node ID": str(platform.node_id),
        "Heads": f"C-Chain block {blocks.head(evm).number}, P-Chain block {platform.tip().height}",
        "Engine": evm.engine.name,
        "Data": f"{settings.common.directory} ({settings.common.profile} profile, mining {mining})",
    }
    if (fork := evm.fork) is not None:
        values["Fork"] = f"of block {fork.number} of {fork.url}; no other node follows"
    if keys := _private_keys(node):
        named = ", ".join(naming(settings.common.allowed_origins)) or "none"
        values["Web pages"] = (
            f"may not use the keys of {keys}; origins named in NODE_ALLOWED_ORIGINS may: {named}"
        )
    if is_left_out(C_CHAIN):
        values |= dict.fromkeys(("C-Chain RPC", "C-Chain WebSocket"), "none: " + absence(C_CHAIN))
    _print_section(f"{NAME} {VERSION}", values)
    if settings.common.network_id == LOCAL:
        _print_section(
            "Accounts and their private keys (public: for this local network only)",
            dict(known_accounts.of_cchain(evm)),
        )
        _print_section(
            "Funded on the P-Chain, with their private keys (likewise)",
            dict(known_accounts.of_platform(platform)),
        )


def _private_keys(node: Node) -> str:
    """Return the names of the settings with private keys that this node signs with; empty if there are none."""
    settings = node.settings
    pays = settings.explorer.faucet and settings.explorer.faucet_key_file
    signing = {
        "NODE_MNEMONIC": node.evm_chain.has_private_keys,
        "NODE_FAUCET_KEY_FILE": bool(pays),
    }
    return " and ".join(name for name, is_private in signing.items() if is_private)


def print_listening(host: str, port: int) -> None:
    """Print the line for which programs wait: connections are accepted from now on."""
    print(f"Listening on {f'[{host}]' if ':' in host else host}:{port}", flush=True)  # for programs


def describe_heads(standing: ChainsState) -> str:
    """Return the heads of both chains."""
    cchain = f"C-Chain at {standing.cchain.height:,}, " if standing.cchain else ""
    return f"{cchain}P-Chain at {standing.pchain.height:,}"


@contextmanager
def explaining_refusals() -> Iterator[None]:
    """End a command with a message instead of a traceback if the operator can fix the problem.

    Raises:
        CommandError: In place of the original exception.
    """
    try:
        yield
    except (BackupRefused, CannotStart) as error:
        text = str(error)
        raise CommandError(f"{text[0].upper()}{text[1:]}.") from error
    except (DatabaseError, OSError) as error:
        raise CommandError(explained(error)) from error
