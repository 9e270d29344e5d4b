"""The parts of this node that create and delete L1s: `explorer_app.managers.ports.L1Tools`."""

import fcntl
import json
import logging
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import urlencode

from cchain_app.store import subnet_chains as rows
from cchain_app.store.subnet_chains import SubnetChainRow
from chaindb import clock
from explorer_app.managers.ports import (
    AnotherAtWork,
    CallRefused,
    NodeStopped,
    ValidatorIdentity,
)
from nodeproject.settings.node import NodeSettings
from nodeproject.startup import chain_views
from nodeproject.startup.chain_databases import remove_database
from nodeproject.startup.identity import make_files
from nodeproject.startup.subnet_chains import DELETED_HERE
from nodeproject.web.paths import running_url
from nunatak.rpc import NotListening, RpcError, Unreachable, call
from platform_app.chain import PlatformChain
from platform_app.selectors import subnets
from primitives.evm import Address
from primitives.hexadecimal import encode_data
from primitives.ids import ID
from primitives.node_identity import IdentityFiles

DIRECTORY: Final = "l1"
"""The directory in the data directory with the keys of validators that are made for L1s."""

_log: Final = logging.getLogger(__name__)
_SECONDS: Final = 60.0
_PROBE_SECONDS: Final = 0.2
"""How long a creation or deletion waits for others that only look whether one runs."""
_OTHERS_SECONDS: Final = 2.5
"""Seconds after which other processes of a production node have looked at their chains again."""


class NodeL1Tools:
    """Calls the running node of a data directory, and writes to its files and rows.

    Args:
        settings: The settings of the node.
        platform: Its P-Chain.
    """

    def __init__(self, settings: NodeSettings, platform: PlatformChain) -> None:
        self._settings = settings
        self._platform = platform

    @property
    def url(self) -> str:
        """The base of the URLs of the running node."""
        return running_url(self._settings)

    def call(self, path: str, method: str, *params: object) -> Any:
        """Call a JSON-RPC method of the running node.

        Raises:
            NodeStopped: No process of the node runs. A production node never raises it, because a refused connection
                says nothing about its processes that do not listen.
            CallRefused: The node refuses it, or does not answer.
        """
        try:
            return call(f"{self.url}{path}", method, *params, headers=self._settings.rpc_headers)
        except (RpcError, Unreachable) as error:
            has_one = self._settings.common.profile != "production"
            is_stopped = has_one and isinstance(error, NotListening)
            raise (NodeStopped if is_stopped else CallRefused)(str(error)) from error

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other threads and processes of this node from creating or deleting L1s meanwhile.

        The kernel releases the lock at a process's end. Blocking: it waits a moment for `is_busy` of another thread.

        Raises:
            AnotherAtWork: Another creation or deletion runs now.
        """
        until = time.monotonic() + _PROBE_SECONDS
        with self._lock_file.open("w") as file:
            while not _lock(file, fcntl.LOCK_EX):
                if time.monotonic() > until:
                    raise AnotherAtWork("another L1 is created or deleted now: wait for its end")
                time.sleep(_PROBE_SECONDS / 20)
            yield

    def is_busy(self) -> bool:
        """Return whether a thread or process of this node creates or deletes an L1 now. Does not wait."""
        with self._lock_file.open("w") as file:
            return not _lock(file, fcntl.LOCK_SH)  # shared, so that two of these calls do not meet

    @property
    def _lock_file(self) -> Path:
        return self._settings.common.directory / "l1.lock"

    def keys_of(self, subnet_id: ID) -> str:
        """Return the directory of the keys of the validator that this node has made for an L1."""
        return str(self._directory(subnet_id) / "staking")

    def make_validator(self, subnet_id: ID) -> ValidatorIdentity:
        """Return the validator that this node has made for an L1; the first call makes its keys."""
        directory = self._directory(subnet_id)
        files = IdentityFiles.below(directory)
        make_files(directory, files, clock.wall())
        return ValidatorIdentity(files.node_id, *files.signer_key)

    def supply_abi(self, blockchain_id: ID, address: Address, abi: str, *, name: str) -> None:
        """Let the explorer's pages of a chain name the functions of a contract, as JSON. A failure is only logged.

        It goes over HTTP, because the process that creates the L1 need not run the chain.
        """
        fields = {
            "module": "contract",
            "action": "supplyabi",
            "address": encode_data(address),
            "contractname": name,
            "abi": abi,
        }
        request = urllib.request.Request(  # noqa: S310  # the node's own URL
            f"{self.url}/chain/{blockchain_id}/api",
            urlencode(fields).encode(),
            headers=self._settings.rpc_headers,
        )
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310  # as above
                reply = json.loads(answer.read())
            if reply["status"] != "1":
                _log.warning("the explorer does not take the ABI of %s: %s", name, reply["result"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("the explorer did not get the ABI of %s: %s", name, error)

    def mark_deleted(self, subnet_id: ID) -> Sequence[ID]:
        """Write to the rows of a subnet's chains that this node runs them no longer; return their blockchain IDs."""
        db = self._platform.db
        created = subnets.blockchains(self._platform, subnet_id)
        with db.atomic(durable=True):
            for one in created:
                known = rows.row_of(db, one.blockchain_id) or SubnetChainRow(*one, rows.DELETED)
                rows.record(
                    db, known._replace(state=rows.DELETED, reason=DELETED_HERE, database="")
                )
        chain_views.refresh(db)
        return [one.blockchain_id for one in created]

    def remove_rows(self, blockchain_ids: Sequence[ID]) -> None:
        """Remove the databases of chains that no process of this node runs.

        Raises:
            OSError: A file cannot be removed.
            DatabaseError: A database cannot be removed.
        """
        if blockchain_ids and self._settings.common.profile == "production":
            # The process that answers has ended these chains, others may not have yet.
            time.sleep(_OTHERS_SECONDS)
        for blockchain_id in blockchain_ids:
            remove_database(blockchain_id, self._settings)

    def _directory(self, subnet_id: ID) -> Path:
        return self._settings.common.directory / DIRECTORY / str(subnet_id)


def _lock(file: IO[str], how: int) -> bool:
    """Lock a file without waiting; return whether it was locked."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
