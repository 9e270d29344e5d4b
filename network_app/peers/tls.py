"""TLS between nodes: both present a certificate, without any certificate authority (p2p.md 1).

`stream` moves the bytes between TLS and the socket.
"""

import warnings
from typing import Any

from OpenSSL import SSL, crypto

from network_app.peers.errors import PeerError, PeerReason
from primitives.identity import check_certificate
from primitives.node_identity import NodeIdentity


def make_context(identity: NodeIdentity) -> SSL.Context:
    """Return the TLS settings for both directions, with this node's certificate and key."""
    context = SSL.Context(SSL.TLS_METHOD)
    context.set_min_proto_version(SSL.TLS1_3_VERSION)
    # Sessions are never resumed: a resumed session has no certificate.
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_options(SSL.OP_NO_TICKET)
    context.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT, _verify)
    with warnings.catch_warnings():
        # Loading it with an X.509 library fails, because such libraries reject the serial number 0 of many nodes.
        warnings.simplefilter("ignore", DeprecationWarning)
        context.use_certificate(
            crypto.load_certificate(crypto.FILETYPE_ASN1, identity.certificate_der)
        )
    context.use_privatekey(identity.tls_key)
    context.check_privatekey()
    return context


def accepting(context: SSL.Context) -> SSL.Connection:
    """Return the server side of a new connection, not connected to a socket."""
    connection = SSL.Connection(context, None)
    connection.set_accept_state()
    return connection


def dialling(context: SSL.Context) -> SSL.Connection:
    """Return the client side of a new connection, not connected to a socket."""
    connection = SSL.Connection(context, None)
    connection.set_connect_state()
    return connection


def peer_certificate(connection: SSL.Connection) -> bytes:
    """Return the DER encoding of the peer's certificate, after the TLS handshake."""
    certificate = connection.get_peer_certificate()
    assert certificate is not None  # both sides require one
    return crypto.dump_certificate(crypto.FILETYPE_ASN1, certificate)


def failure(error: SSL.Error) -> PeerError:
    """Return the error with the message of the TLS library."""
    entries = error.args[0] if error.args and isinstance(error.args[0], list) else []
    reasons = [entry[-1] for entry in entries if entry and entry[-1]]
    return PeerError(PeerReason.TLS_FAILED, cause=", ".join(reasons) or "unexpected end")


def _verify(
    _connection: SSL.Connection, certificate: crypto.X509, _error: int, depth: int, _ok: Any
) -> bool:
    """Check the leaf certificate by its key only; other objections of the library are ignored.

    Raises:
        CertificateError: The certificate is rejected. `do_handshake` raises it again.
    """
    if depth == 0:
        check_certificate(crypto.dump_certificate(crypto.FILETYPE_ASN1, certificate))
    return True
