"""`node_status`: prints heads, mempools and health of the node."""

import json
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from rich.markup import escape
from typing_extensions import override

from cchain_app.apps import evm_chain, evm_chains
from cchain_app.selectors import blocks, calls, pool
from cchain_app.selectors.blocks import base_fee_after
from cchain_app.store import chain as stored
from cchain_app.store import subnet_chains
from chaindb import clock, versions
from chaindb.chains import C_CHAIN, absence, is_left_out
from explorer_app.selectors import tokens
from network_app import selectors
from nodeproject.apps import this_node
from nodeproject.management.terminal import print_values
from nodeproject.startup.chain_databases import open_database
from nodeproject.startup.profile import CHECKS
from nodeproject.web.paths import running_url
from platform_app.apps import platform_chain
from platform_app.chain import NoPlatformGenesis
from platform_app.selectors import mempool, stakers
from primitives.counting import counted
from primitives.ids import ID, PRIMARY_NETWORK_ID
from primitives.networks import label

TIMEOUT = 5.0
"""Seconds to wait for the node's RPC."""


class Command(BaseCommand):
    """Prints a table of the database's contents, and whether the RPC answers."""

    requires_system_checks = CHECKS
    help = "Show heads, mempools and health of the node."

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            head, tip = blocks.head(evm_chain()), platform_chain().tip()
        except (blocks.NoGenesis, NoPlatformGenesis, DatabaseError):
            raise CommandError(
                "This node has no chain yet: start it with `nunatak`, in a checkout with `make run`."
            ) from None
        pending, queued = pool.counts(evm_chain())
        validators = stakers.current_validators(platform_chain())
        age = max(0, clock.cchain_now() - head.header.timestamp)
        facts = {
            "Network": f"{settings.NODE.common.network_id}, chain ID {evm_chain().config.chain_id}",
            "C-Chain": f"{', '.join(evm_chain().aliases)}, {evm_chain().blockchain_id}",
            "C-Chain head": f"{head.number}  0x{head.hash.hex()}",
            "Head's age": f"{age} s, {counted(len(head.transactions), 'transaction')}",
            "Next base fee": f"{(base_fee_after(evm_chain(), head) or 0) / 1e9:g} Gwei",
            "Mempool": f"{pending:,} pending, {queued:,} queued",
            "Internal calls": calls.how_far(evm_chain()),
            "Tokens": tokens.how_far(evm_chain()),
            **_further_chains(),
            **_subnet_chains(),
            "P-Chain": f"{', '.join(platform_chain().aliases)}, {platform_chain().blockchain_id}",
            "P-Chain tip": f"{tip.height}  {tip.block_id}",
            "Chain time": f"{datetime.fromtimestamp(tip.timestamp, UTC):%Y-%m-%d %H:%M:%S} UTC",
            "Validators": f"{len(validators.validators)}, {validators.weight // platform_chain().config.unit:,} {settings.NODE.common.coin_symbol} staked",
            "P-Chain mempool": counted(mempool.waiting(platform_chain()).txs, "transaction"),
            "Node clock": f"{clock.offset()} s ahead of wall time",
            "Peers": _peers(),
            "Bootstrap": _bootstrap(),
            "Engine": evm_chain().engine.name,
            "Database": f"{connection.vendor}, {settings.NODE.common.profile} profile, of {_versions()}",
            "RPC": _rpc_state(head.number),
        }
        print_values("Node", facts)


def _further_chains() -> dict[str, str]:
    """Describe the EVM chains of the primary network besides the C-Chain: names, IDs and heads."""
    facts = {}
    for chain in evm_chains()[1:]:
        if chain.subnet_id != PRIMARY_NETWORK_ID:
            continue
        name = chain.title
        head = blocks.head(chain)
        facts[name] = f"{', '.join(chain.aliases)}, {chain.blockchain_id}"
        facts[f"{name} head"] = f"{head.number}  0x{head.hash.hex()}"
    return facts


def _subnet_chains() -> dict[str, str]:
    """Describe the chains of tracked subnets by the rows that the node has written, which this command leaves as they are."""
    facts = {}
    for row in subnet_chains.rows(this_node().database):
        name = label(row.name, str(row.blockchain_id))
        if row.state == subnet_chains.RUNNING:
            facts[name] = f"{row.blockchain_id}, chain ID {row.chain_id}"
            facts[f"{name} head"] = _stored_head(row.blockchain_id)
            if row.reason:
                facts[f"{name} state"] = f"[red]makes no blocks[/red]: {escape(row.reason)}"
        elif row.state == subnet_chains.REFUSED:
            facts[name] = f"[red]does not run[/red]: {escape(row.reason)}"
    return facts


def _stored_head(blockchain_id: ID) -> str:
    try:
        head = stored.head_id(open_database(blockchain_id, settings.NODE))
    except DatabaseError as error:
        return f"[red]cannot be read[/red] ({escape(str(error).strip())})"
    return "none" if head is None else f"{head[0]}  0x{head[1].hex()}"


def _versions() -> str:
    """Describe which versions of the program have run on the database."""
    known = versions.recorded(this_node().database)
    return (
        f"version{'s' if len(known) > 1 else ''} {', '.join(known)}" if known else "version 0.1.0"
    )


def _peers() -> str:
    """Describe the number of peers and the connected stake."""
    reported = selectors.status()
    if reported is None:
        return "none: the peer network has not run yet"
    stake = selectors.connected_stake(platform_chain())
    if not selectors.is_fresh(reported):
        return (
            f"[red]unknown[/red]: the peer network is silent since {reported.heartbeat_at:%H:%M:%S}"
        )
    return f"{reported.connected}, {stake.fraction:.0%} of the stake connected"


def _bootstrap() -> str:
    """Describe which chains have reached the network's frontier."""
    words = []
    for alias in this_node().chains:
        row = selectors.sync_of(alias)
        done = selectors.is_bootstrapped(alias)
        words.append(
            f"{alias} {'done' if done else '0 %' if row is None else f'{row.percent:.0f} %'}"
        )
        if row is not None and row.obstacle is not None:
            words.append(f"[red]{escape(row.obstacle)}[/red]")
    return ", ".join(words)


def _rpc_state(head: int) -> str:
    """Query the running node for its head and compare that with the database's."""
    if is_left_out(C_CHAIN):
        return absence(C_CHAIN)
    node = settings.NODE
    request = urllib.request.Request(  # noqa: S310  # the node's own address
        f"{running_url(node)}/ext/bc/C/rpc",
        data=b'{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}',
        headers={"Content-Type": "application/json", **node.rpc_headers},
    )
    started = time.perf_counter()
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310  # as above
            number = int(json.load(answer)["result"], 16)
    except (urllib.error.URLError, TimeoutError, OSError, KeyError, ValueError) as error:
        return f"[red]does not answer[/red] ({escape(str(error))})"
    milliseconds = (time.perf_counter() - started) * 1000
    state = "[green]answers[/green]" if number >= head else f"[yellow]at block {number}[/yellow]"
    return f"{state} in {milliseconds:.0f} ms on {running_url(node)}"
