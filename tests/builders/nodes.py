"""Nodes with an identity, and the addresses that they advertise."""

import ssl
from dataclasses import dataclass
from functools import cache, cached_property
from ipaddress import ip_address
from typing import cast

from cryptography.hazmat.primitives.serialization import load_pem_private_key

from network_app.handshake.claims import IPAddress, SignedIP, sign_ip
from primitives import bls
from primitives.identity import KeyAndCertificate, PrivateKey, make_certificate, node_id_of
from primitives.node_identity import NodeIdentity

NOW = 1_750_000_000
ADDRESS = ip_address("192.0.2.1")
PORT = 9651


@dataclass(frozen=True)
class Node:
    """A node with keys of its own."""

    files: KeyAndCertificate
    bls_secret: bytes

    @cached_property
    def identity(self) -> NodeIdentity:
        """The node's identity, without files."""
        der = ssl.PEM_cert_to_DER_cert(self.files.certificate_pem.decode())
        return NodeIdentity(
            node_id=node_id_of(der),
            certificate_der=der,
            tls_key=cast(PrivateKey, load_pem_private_key(self.files.key_pem, None)),
            bls_secret=self.bls_secret,
            bls_public_key=bls.public_key(self.bls_secret),
        )

    def claim(self, ip: IPAddress = ADDRESS, port: int = PORT, timestamp: int = NOW) -> SignedIP:
        """Return an address signed by the node."""
        return sign_ip(
            ip,
            port,
            timestamp,
            tls_key=self.identity.tls_key,
            bls_secret=self.identity.bls_secret,
        )


@cache
def node(number: int) -> Node:
    """Return the node with this number; it is the same in the whole run."""
    return Node(make_certificate(NOW), (number + 1).to_bytes(bls.SECRET_KEY_SIZE, "big"))
