"""The first start of a data directory: tables, genesis, admin user. Each step does nothing if it is done already."""

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import PBKDF2PasswordHasher, get_hasher, make_password
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection

from cchain_app.chain import EvmChain
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.services import genesis as cchain_genesis
from chaindb import clock, versions
from chaindb.locks import Lock
from network_app.addresses import MalformedAddress
from nodeproject.management import x_accounts
from nodeproject.node import Node
from nodeproject.startup.database import explained, make_tables
from nodeproject.startup.identity import make_identity, require_identity
from platform_app.selectors.stored import stored_platform
from primitives.ids import PRIMARY_NETWORK_ID
from primitives.networks import LOCAL, REFERENCE_UNIT, SPECIFICATION_UNIT
from primitives.product import VERSION
from primitives.reasons import ErrorWithReason
from primitives.whole_files import write_whole
from xchain_app.selectors.outputs import fee_asset

_OPERATORS_BUSINESS = (ErrorWithReason, GenesisFileError, MalformedAddress)


def initialise_or_explain(
    node: Node,
    load_cchain: Callable[[EvmChain], object] = cchain_genesis.load_genesis,
    *,
    makes_identity: bool = True,
) -> None:
    """Initialise for a command; problems that the operator can fix are reported without a traceback.

    Args:
        node: The node.
        load_cchain: As in `initialise`.
        makes_identity: Likewise.

    Raises:
        CommandError: Settings, files or the database keep the node from starting.
    """
    try:
        initialise(node, load_cchain, makes_identity=makes_identity)
    except _OPERATORS_BUSINESS as error:
        raise CommandError(str(error)) from error
    except (DatabaseError, OSError) as error:
        raise CommandError(explained(error)) from error


def initialise(
    node: Node,
    load_cchain: Callable[[EvmChain], object] = cchain_genesis.load_genesis,
    *,
    makes_identity: bool = True,
) -> None:
    """Prepare the data directory and its database, so that the node can run.

    Args:
        node: The node.
        load_cchain: Writes the C-Chain's genesis block if it is missing, and refuses that of another chain.
        makes_identity: Whether a node whose database exists may get a new identity here. Otherwise its files must be there.

    Raises:
        WrongChainInDatabase: The database holds another chain.
        GenesisFileError: The C-Chain's genesis file cannot be used.
        KeyringError: A local network's settings give no accounts.
        GenesisError: The P-Chain's genesis file cannot be used.
        CodecError: A value in the P-Chain's genesis file does not fit into its field.
        AvmGenesisError: The X-Chain's genesis in the P-Chain's genesis cannot be used.
        CannotStart: The node's identity cannot be used.
        IdentityError: A file of the identity has invalid content.
        MalformedAddress: NODE_BOOTSTRAP has an entry that is not IP:PORT.
        CannotJoin: No node has answered with the genesis of its network.
        ForkRefused: The C-Chain is not the fork that the settings name.
        UpstreamError: A new fork cannot be created, because the remote node does not provide its data.
        OSError: A file cannot be read or written.
        DatabaseUnusable: The database does not answer, or is a later version's.
        DatabaseError: The database cannot be read or written.
    """
    _keep_private(node.settings.common.directory, connection.settings_dict)
    make_tables()
    versions.record(node.database, VERSION, clock.wall())
    if not makes_identity and stored_platform(node.database) is not None:
        require_identity(node.settings)
    make_identity(node.settings, clock.now())
    if node.settings.common.bootstrap:
        from network_app.joining import fetch_genesis  # few starts ask other nodes

        with _status("Asking for the network's genesis", node):
            fetch_genesis(node.network)
    with _status("Looking at the genesis blocks", node):
        load_cchain(node.evm_chain)
        if not _has_begun(node):
            _begin(node)
    _make_admin_user(node)


def _has_begun(node: Node) -> bool:
    """Return whether the database has the chains besides the C-Chain, begun with the same settings, and no chain of a subnet.

    Then nothing of them has to be verified or started now, and their modules are imported beside the first answers.
    """
    common, stored = node.settings.common, stored_platform(node.database)
    others = (
        bool(common.platform_genesis),  # a file that may have changed
        common.genesis_directory.exists(),
        (common.directory / "snapshots").exists(),  # one may be restored in part
        len(node.evm_chains) > 1,
    )
    if stored is None or fee_asset(node.database) is None or any(others):
        return False
    node.identity.signer_key  # noqa: B018  # refuses a file without a key
    unit = REFERENCE_UNIT if common.parameters == "avalanchego" else SPECIFICATION_UNIT
    return (
        (stored.network_id, stored.unit) == (common.network_id, unit)
        and stored.has_genesis_bytes
        and not stored.has_chains_of_subnets
    )


def _begin(node: Node) -> None:
    """Make the genesis of the chains besides the C-Chain, or verify it, and begin to run the chains of subnets."""
    from platform_app.services import genesis as platform_genesis
    from xchain_app.services import genesis as xchain_genesis

    platform_genesis.load_genesis(
        node.platform_chain,
        node.platform_chain.proof_of_possession,
        cchain_genesis.genesis_text(node.evm_chain),
        partial(x_accounts.holders_of, node.evm_chain),
    )
    xchain_genesis.load_genesis(node.avm_chain)
    for chain in tuple(node.evm_chains.values()):
        if chain is not node.evm_chain and chain.subnet_id == PRIMARY_NETWORK_ID:
            call_command("migrate", database=chain.db.alias, interactive=False, verbosity=0)
            cchain_genesis.load_genesis(chain)
    node.snapshots.finish()
    node.subnet_chains.look()


def _status(text: str, node: Node) -> contextlib.AbstractContextManager[object]:
    """Show a text on a terminal while the body runs, if other nodes or a large genesis may slow it down."""
    if node.settings.common.network_id == LOCAL and not (
        node.settings.common.bootstrap or node.settings.cchain.fork.url
    ):
        return contextlib.nullcontext()
    from rich.console import Console  # takes a twentieth of a start

    return Console(stderr=True).status(text)


def _keep_private(directory: Path, database: Mapping[str, Any]) -> None:
    """Remove access for other users from an existing data directory and from the files of a database.

    New files are private by the settings' umask.
    """
    _make_private(directory)
    if connection.vendor == "sqlite":
        for ending in ("", "-wal", "-shm"):
            _make_private(Path(f"{database['NAME']}{ending}"))


def _make_private(path: Path) -> None:
    """Remove access for group and others from a path, if it exists and belongs to the node."""
    with contextlib.suppress(FileNotFoundError):
        found = path.stat()
        # A sticky directory such as /tmp is shared on purpose: closing it would break the machine.
        if found.st_uid == os.geteuid() and not found.st_mode & stat.S_ISVTX:
            path.chmod(stat.S_IMODE(found.st_mode) & ~0o077)


def _make_admin_user(node: Node) -> None:
    """Create the admin user with a random password, in a file that only its owner can read."""
    with node.database.atomic():
        node.database.acquire(Lock.INIT)
        _add_admin_user(node)


def _add_admin_user(node: Node) -> None:
    users = get_user_model().objects
    name = node.settings.admin_user
    if users.filter(username=name).exists():
        return
    password = secrets.token_urlsafe(18)
    write_whole(node.settings.password_path, f"{password}\n".encode())
    user = users.create_superuser(username=name)
    user.password = _hash_generated(password)
    user.save(update_fields=["password"])


def _hash_generated(password: str) -> str:
    """Return the hash of a generated password, with a thousandth of the usual iterations.

    The iterations slow down guessing, which is hopeless with 144 random bits, and would take half of a first start.
    Django hashes the password again, with all iterations, at the first login.
    """
    hasher = get_hasher()
    if not isinstance(hasher, PBKDF2PasswordHasher):
        return make_password(password)
    return hasher.encode(password, hasher.salt(), iterations=hasher.iterations // 1000)
