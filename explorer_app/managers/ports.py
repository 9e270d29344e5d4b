"""Ports of the creation and deletion of L1s to the node: its interfaces, keys for further validators, its databases."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from primitives.evm import Address
from primitives.ids import ID, NodeID


class CallRefused(Exception):
    """The node has refused a call, or does not answer; the message says which call and why."""


class NodeStopped(CallRefused):
    """No process of the node runs."""


class AnotherAtWork(Exception):
    """Another thread or process creates or deletes an L1 now."""


class NodeCall(Protocol):
    """Calls a JSON-RPC method of the running node."""

    def __call__(self, path: str, method: str, *params: object) -> Any:
        """Return the result of a call. Blocking.

        Args:
            path: The path of the interface, such as `/ext/bc/P`.
            method: The method's name.
            params: Its parameters.

        Raises:
            NodeStopped: No process of the node runs.
            CallRefused: The node refuses it, or does not answer.
        """


class ValidatorIdentity(NamedTuple):
    """The public part of a node's keys."""

    node_id: NodeID
    public_key: bytes
    """BLS, 48 bytes."""
    proof: bytes
    """The proof of possession, 96 bytes."""


class L1Tools(Protocol):
    """The parts of a node that create and delete L1s."""

    @property
    def call(self) -> NodeCall:
        """Calls the running node."""

    @property
    def url(self) -> str:
        """The base of the URLs of the running node."""

    def alone(self) -> AbstractContextManager[None]:
        """Keep other processes of this node from creating or deleting L1s meanwhile. Blocking, for a moment.

        Raises:
            AnotherAtWork: Another process creates or deletes an L1 now.
        """

    def is_busy(self) -> bool:
        """Return whether a thread or process of this node creates or deletes an L1 now. Does not wait."""

    def keys_of(self, subnet_id: ID) -> str:
        """Return the directory of the keys of the validator that this node has made for an L1."""

    def make_validator(self, subnet_id: ID) -> ValidatorIdentity:
        """Return the validator that this node has made for an L1; the first call makes its keys.

        Raises:
            OSError: The files cannot be written or read.
        """

    def supply_abi(self, blockchain_id: ID, address: Address, abi: str, *, name: str) -> None:
        """Let the explorer's pages of a chain name the functions of a contract, as JSON. A failure is only logged."""

    def mark_deleted(self, subnet_id: ID) -> Sequence[ID]:
        """Write to the rows of a subnet's chains that this node runs them no longer; return their blockchain IDs."""

    def remove_rows(self, blockchain_ids: Sequence[ID]) -> None:
        """Remove the databases of chains that no process of this node runs.

        Raises:
            OSError: A file cannot be removed.
            DatabaseError: A database cannot be removed.
        """
