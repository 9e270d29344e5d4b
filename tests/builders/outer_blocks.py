"""Valid outer blocks in one call, with one field changed."""

import ssl
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.serialization import load_pem_private_key
from hypothesis import strategies as st

from network_app.proposervm.block import OuterBlock, SignedBlock, build_signed
from network_app.proposervm.epochs import Epoch
from network_app.proposervm.verification import InnerContext, ParentContext, verify_child
from primitives.hashing import sha256
from primitives.identity import PrivateKey, make_certificate, node_id_of
from primitives.ids import ID, NodeID

CHAIN = ID(sha256(b"chain"))
NOW = 1_700_000_000

ids = st.binary(min_size=32, max_size=32).map(ID)
heights = st.integers(0, 2**63 - 1)
times = st.integers(-(2**63), 2**63 - 1)
epochs = st.none() | st.builds(Epoch, heights, heights, times).filter(
    lambda epoch: epoch != Epoch(0, 0, 0)
)
inners = st.binary(max_size=60)


def an_id(name: str) -> ID:
    return ID(sha256(name.encode()))


class Node(NamedTuple):
    """A node that signs."""

    node_id: NodeID
    certificate: bytes
    key: PrivateKey


def a_node() -> Node:
    made = make_certificate(NOW)
    der = ssl.PEM_cert_to_DER_cert(made.certificate_pem.decode())
    key: Any = load_pem_private_key(made.key_pem, None)
    return Node(node_id_of(der), der, key)


ALICE, BOB = a_node(), a_node()

PARENT = ParentContext(
    outer_id=an_id("outer 4"),
    inner_id=an_id("inner 4"),
    height=4,
    time=NOW - 60,
    p_chain_height=7,
    epoch=Epoch(6, 3, NOW - 75),
)
INNER = InnerContext(an_id("inner 5"), PARENT.inner_id, 5)
HEAD = {
    "parent_id": PARENT.outer_id,
    "time": NOW,
    "p_chain_height": 8,
    "epoch": PARENT.epoch,
    "inner": b"inner 5",
}


def signed(by: Node = ALICE, chain_id: ID = CHAIN, **changed: Any) -> SignedBlock:
    """Return a child of PARENT."""
    return build_signed(**HEAD | changed, chain_id=chain_id, certificate=by.certificate, key=by.key)


@dataclass
class Case:
    """A block and its environment; by default everything is valid."""

    block: OuterBlock
    parent: ParentContext = PARENT
    inner: InnerContext = INNER

    def verify(self, **changed: Any) -> None:
        """Verify the block in normal operation, with Alice as the only validator."""
        situation: dict[str, Any] = {
            "chain_id": CHAIN,
            "now": NOW,
            "p_height": 8,
            "bootstrapping": False,
            "proposers": {7: {ALICE.node_id: 1}}.__getitem__,
        }
        verify_child(self.block, self.parent, inner=self.inner, **situation | changed)

    def with_parent(self, **changed: Any) -> "Case":
        return replace(self, parent=replace(self.parent, **changed))

    def with_inner(self, **changed: Any) -> "Case":
        return replace(self, inner=replace(self.inner, **changed))
