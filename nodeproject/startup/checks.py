"""System checks: conditions that must hold before the node starts, with messages and hints."""

import os
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Warning, register
from django.db import DatabaseError

from cchain_app.apps import evm_chain
from cchain_app.evm.select import EngineSelectionError, verify_choice
from cchain_app.genesis_fields import GenesisFileError
from chaindb import clock
from jsonrpc.dispatch.gate import is_possible_host, is_possible_origin
from network_app import addresses
from network_app.snowman.parameters import (
    DEFAULT_ALPHA,
    SMALL_ALPHA,
    InvalidParameters,
    parameters_of,
)
from nodeproject.settings.databases import is_postgresql
from nodeproject.settings.flags import BadSetting, linked, unknown
from nodeproject.settings.given import GIVEN
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.process import DJANGO_THREADS
from nodeproject.startup.profile import CHECKS
from primitives.upgrades import InvalidUpgrades, read_upgrades

PUBLIC_CHAIN_IDS = {1: 96369, 5: 96368}
"""EVM chain IDs of the networks that the specification names (section 9)."""


OTHER_THREADS = DJANGO_THREADS + 4
"""Threads of a web process that read the database besides those for calls: the threads in which
Django runs views, those that render plain pages, and the follower's."""


@register(*CHECKS)
def check_genesis(**_kwargs: Any) -> list[CheckMessage]:
    """Check that the genesis file can be read and that its chain ID is the network's."""
    node = settings.NODE
    chain = evm_chain()
    if is_postgresql(node.database_url) and chain.genesis_source.is_local:
        return []  # the chain ID is in a database that may be unavailable, and any is allowed
    try:
        chain_id = chain.own_genesis.config.chain_id
    except DatabaseError:
        return []  # the start reports why the file cannot be read
    except (GenesisFileError, OSError) as error:
        return [
            Error(
                f"The genesis file cannot be used: {error}",
                hint="NODE_GENESIS names a genesis file in geth's JSON format.",
                id="node.E001",
            )
        ]
    wanted = PUBLIC_CHAIN_IDS.get(node.common.network_id, chain_id)
    if chain_id != wanted:
        return [
            Error(
                f"Network {node.common.network_id} has chain ID {wanted}, but the settings give {chain_id}.",
                hint="Change NODE_CHAIN_ID or NODE_GENESIS, or use a network ID of your own.",
                id="node.E002",
            )
        ]
    return []


@register(*CHECKS)
def check_block_interval(**_kwargs: Any) -> list[CheckMessage]:
    """Check that the block interval is in whole seconds, as beat's table of the production profile needs."""
    node = settings.NODE
    whole = node.cchain.block_interval >= 1 and not node.cchain.block_interval % 1
    if not node.cchain.mines_by_clock or node.common.profile != "production" or whole:
        return []
    return [
        Error(
            f"NODE_BLOCK_INTERVAL is {node.cchain.block_interval:g}, which is not a whole number of seconds.",
            hint="Fractions of a second are for the embedded profile.",
            id="node.E004",
        )
    ]


@register(*CHECKS)
def check_mixed_mining(**_kwargs: Any) -> list[CheckMessage]:
    """Check that blocks on arrival and by the clock together are made by an embedded node that decides alone."""
    node = settings.NODE
    if node.cchain.mining != "mixed" or (
        node.common.profile == "embedded" and not node.common.votes
    ):
        return []
    return [
        Error(
            "NODE_MINING is mixed, which needs the embedded profile and a node that decides alone.",
            hint="Set NODE_MINING to auto or interval.",
            id="node.E018",
        )
    ]


@register(*CHECKS)
def check_voting(**_kwargs: Any) -> list[CheckMessage]:
    """Check that a voting network has no other way to decide blocks, and that its parameters allow a decision."""
    node = settings.NODE
    if not node.common.votes:
        return []
    found: list[CheckMessage] = []
    if node.cchain.mining == "manual":
        found.append(
            Error(
                "NODE_MINING is manual, but the validators vote on blocks (NODE_CONSENSUS=snowman).",
                hint="Validators do not vote on blocks made on command: set NODE_MINING to auto or "
                "interval, or NODE_CONSENSUS to sole.",
                id="node.E007",
            )
        )
    if node.cchain.mines_by_clock and node.cchain.block_interval % 1:
        found.append(
            Error(
                f"NODE_BLOCK_INTERVAL is {node.cchain.block_interval:g}, which is not a whole number of seconds.",
                hint="Blocks on which the validators vote have times of whole seconds.",
                id="node.E008",
            )
        )
    if node.common.producer:
        found.append(
            Error(
                "NODE_PRODUCER names a node, but the validators vote on blocks (NODE_CONSENSUS=snowman).",
                hint="Each validator proposes blocks in its slots: remove NODE_PRODUCER.",
                id="node.E009",
            )
        )
    if node.common.profile == "embedded" and not node.peers.network:
        found.append(
            Error(
                "NODE_NETWORK is false, but the validators vote on blocks (NODE_CONSENSUS=snowman).",
                hint="A node without peers cannot decide anything.",
                id="node.E010",
            )
        )
    try:
        for alpha in (DEFAULT_ALPHA, SMALL_ALPHA):
            parameters_of(node.peers.snow, alpha)
    except InvalidParameters as error:
        found.append(
            Error(str(error), hint="See the NODE_SNOW_… settings; 0 is a default.", id="node.E011")
        )
    return found


@register(*CHECKS)
def check_database_pool(**_kwargs: Any) -> list[CheckMessage]:
    """Check that no thread with a database connection waits for a thread that needs one."""
    node = settings.NODE
    needed = node.common.rpc_threads + OTHER_THREADS
    if node.common.profile != "production" or node.database_pool >= needed:
        return []
    return [
        Error(
            f"{node.database_pool} database connections are too few for {node.common.rpc_threads} threads.",
            hint=f"Set NODE_DATABASE_POOL to {needed} or more, or NODE_RPC_THREADS lower.",
            id="node.E005",
        )
    ]


@register(*CHECKS)
def check_engine(**_kwargs: Any) -> list[CheckMessage]:
    """Check that the chosen EVM engine is available."""
    try:
        verify_choice(settings.NODE.cchain.engine)
    except EngineSelectionError as error:
        hint = "Choose another NODE_ENGINE; `auto` takes what there is."
        return [
            Error(
                f"NODE_ENGINE is {settings.NODE.cchain.engine}: {error}.", hint=hint, id="node.E012"
            )
        ]
    return []


@register(*CHECKS)
def check_ports(**_kwargs: Any) -> list[CheckMessage]:
    """Check that HTTP and peers do not share a port."""
    if settings.NODE.http_port == settings.NODE.peers.staking_port != 0:
        return [
            Error(
                f"HTTP and peers both use port {settings.NODE.http_port}.",
                hint="Set NODE_HTTP_PORT or NODE_STAKING_PORT.",
                id="node.E003",
            )
        ]
    return []


@register(*CHECKS)
def check_tokens(**_kwargs: Any) -> list[CheckMessage]:
    """Check that the files of tokens can be used."""
    node = settings.NODE
    try:
        _ = (node.rpc_tokens, node.keystore_tokens, node.metrics_tokens)
    except BadSetting as error:
        hint = "Make one with: openssl rand -hex 32 > FILE; chmod 600 FILE"
        return [Error(f"{error}.", hint=hint, id="node.E019")]
    return []


@register(*CHECKS)
def check_hosts_and_origins(**_kwargs: Any) -> list[CheckMessage]:
    """Check that each allowed host and origin can be the one of a request."""
    node = settings.NODE
    hosts = [entry for entry in node.allowed_hosts if not is_possible_host(entry)]
    origins = [entry for entry in node.common.allowed_origins if not is_possible_origin(entry)]
    found: list[CheckMessage] = []
    if hosts:
        found.append(
            Error(
                f"NODE_ALLOWED_HOSTS has entries that match no request: {', '.join(hosts)}.",
                hint="Each entry is a name in ASCII, without scheme, port, path or wildcard; `*` alone is for all names.",
                id="node.E015",
            )
        )
    if origins:
        found.append(
            Error(
                f"NODE_ALLOWED_ORIGINS has entries that match no request: {', '.join(origins)}.",
                hint="Each entry is a scheme and a host, with a port if it is not the scheme's own, and without a path: "
                "https://app.example.com.",
                id="node.E016",
            )
        )
    return found


@register(*CHECKS)
def check_identity(**_kwargs: Any) -> list[CheckMessage]:
    """Check that a machine of the production profile has the files of the node's identity."""
    node = settings.NODE
    files = (node.certificate_path, node.staking_key_path, node.signer_path)
    missing = [str(path) for path in files if not os.access(path, os.R_OK)]
    if node.common.profile != "production" or not missing:
        return []
    return [
        Warning(
            f"This node's identity cannot be read: {', '.join(missing)}.",
            hint="The first init_node makes these files: copy them to all other machines.",
            id="node.W001",
        )
    ]


@register(*CHECKS)
def check_helicon(**_kwargs: Any) -> list[CheckMessage]:
    """Check that the Helicon upgrade, whose rules for the C-Chain this version does not execute, is not active."""
    node = settings.NODE.common
    if node.parameters != "avalanchego" or "C" not in node.chains:
        return []  # an own C-Chain has no such upgrade
    if not node.upgrades and node.network_id not in PUBLIC_CHAIN_IDS:
        return []  # the upgrade has no time there
    from platform_app.config import reference_config  # few starts need it

    upgrades = reference_config(node.network_id).upgrades
    if node.upgrades:
        try:
            upgrades = read_upgrades(Path(node.upgrades))
        except (OSError, InvalidUpgrades):
            return []  # the start reports it
    if upgrades.helicon > clock.wall():
        return []
    since = datetime.fromtimestamp(upgrades.helicon, UTC).isoformat()
    return [
        Warning(
            f"The Helicon upgrade of network {node.network_id} is active since {since}. This version executes its rules on "
            "the P-Chain, but not those of the C-Chain, which executes blocks after it has accepted them: the C-Chain stops "
            "at the first such block.",
            hint="Run a later version, leave the C-Chain out (NODE_CHAINS=P,X), or set another heliconTime in the file of "
            "NODE_UPGRADES.",
            id="node.W002",
        )
    ]


@register(*CHECKS)
def check_web_workers(**_kwargs: Any) -> list[CheckMessage]:
    """Check that only the production profile has several web processes: the embedded profile is one process."""
    common = settings.NODE.common
    if common.profile != "embedded" or common.web_workers == 1:
        return []
    return [
        Error(
            f"NODE_WEB_WORKERS is {common.web_workers}, but the embedded profile is one process.",
            hint="Remove NODE_WEB_WORKERS: with the native engine, calls use all cores of the machine anyway. Several "
            "web processes need NODE_PROFILE=production.",
            id="node.E017",
        )
    ]


@register(*CHECKS)
def check_bootstrappers(**_kwargs: Any) -> list[CheckMessage]:
    """Check that a node does not follow itself."""
    own = GIVEN.own_bootstrap
    if not own:
        return []
    rest = (
        ""
        if settings.NODE.common.bootstrap
        else " No other node is named, so it has no bootstrap nodes."
    )
    return [
        Warning(
            f"NODE_BOOTSTRAP names this node itself: {', '.join(own)} is left out.{rest}",
            hint="Take it out of NODE_BOOTSTRAP.",
            id="node.W003",
        )
    ]


@register(*CHECKS)
def check_addresses(**_kwargs: Any) -> list[CheckMessage]:
    """Check the addresses and the producer, and that peers can reach the advertised address."""
    try:
        addresses.bootstrappers(settings.NODE.common)
        address = addresses.advertised(settings.NODE.peers)
        listening = addresses.listening(settings.NODE.peers)
    except addresses.MalformedAddress as error:
        return [Error(str(error), id="node.E006")]
    if settings.NODE.common.producer:
        from network_app import producer  # it needs the P-Chain's modules, which start late

        try:
            producer.named(settings.NODE.common.producer)
        except producer.MalformedProducer as error:
            return [Error(str(error), id="node.E006")]
    if not ip_address(listening.ip).is_loopback and ip_address(address.ip).is_loopback:
        return [
            Warning(
                f"This node announces to peers on other machines the address {address}, which is their own address.",
                hint="Set NODE_PUBLIC_IP to the address that others see.",
                id="node.W005",
            )
        ]
    return []


@register(*CHECKS)
def check_variables(**_kwargs: Any) -> list[CheckMessage]:
    """Check for variables that look like misspelled settings, which have no effect.

    A variable that resembles no setting may belong to another program, so it gets an info instead of a warning.
    """
    found: list[CheckMessage] = [
        Warning(
            f"{name} is the address of a service, not a setting, and is ignored.",
            hint="Kubernetes sets it for a service of this name: set enableServiceLinks to false for the pod, or "
            "rename the service.",
            id="node.W008",
        )
        for name in linked(NodeSettings)
    ]
    for name, near in unknown(NodeSettings).items():
        if near is None:
            text = f"{name} is not a setting of this node and has no effect."
            found.append(Info(text, id="node.I001"))
        else:
            text = f"{name} is not a setting and has no effect: did you mean {near}?"
            found.append(Warning(text, id="node.W004"))
    return found
