"""TLS between nodes: version 1.3, a certificate on each side, and the accepted kinds of keys."""

import asyncio
import datetime
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from network_app.peers.tls import make_context
from primitives.identity import node_id_of
from primitives.node_identity import NodeIdentity
from tests.builders.nodes import Node, node
from tests.builders.peers import LOOPBACK, eventually, running

pytestmark = pytest.mark.sqlite_only

LONG_AGO = datetime.datetime(1999, 12, 31, tzinfo=datetime.UTC)


def certificate(key: Any, *, padding: int = 0) -> bytes:
    """Return a certificate for any key; it expired long ago."""
    nobody = x509.Name([])
    builder = (
        x509.CertificateBuilder()
        .subject_name(nobody)
        .issuer_name(nobody)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(LONG_AGO)
        .not_valid_after(LONG_AGO + datetime.timedelta(days=1))
    )
    if padding:
        oid = x509.ObjectIdentifier("1.2.3.4")
        builder = builder.add_extension(x509.UnrecognizedExtension(oid, bytes(padding)), False)
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else SHA256()
    return builder.sign(key, algorithm).public_bytes(Encoding.DER)


def identity(key: Any) -> NodeIdentity:
    der = certificate(key)
    return replace(
        node(50).identity, tls_key=key, certificate_der=der, node_id=node_id_of(der)
    )  # fmt: skip


def settings(key: Any, der: bytes, folder: Path) -> ssl.SSLContext:
    """Return a client's TLS settings with that certificate."""
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_text(ssl.DER_cert_to_PEM_cert(der))
    files[1].write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )  # fmt: skip
    context = anonymous()
    context.set_ciphers("ALL:@SECLEVEL=0")  # allows keys that the library considers too small
    context.load_cert_chain(*files)
    return context


def anonymous() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def speak(address: tuple[str, int], context: ssl.SSLContext) -> bytes:
    """Connect, and return the bytes received until the other side closes."""
    reader, writer = await asyncio.open_connection(*address, ssl=context)
    try:
        return await reader.read()
    finally:
        writer.transport.abort()


class Rsa(Node):
    """A node with an RSA key; its certificate expired long ago."""

    @property
    def identity(self) -> NodeIdentity:  # type: ignore[override]
        return RSA


RSA = identity(rsa.generate_private_key(65537, 2048))


async def test_a_node_with_an_rsa_key_and_an_old_certificate_is_a_node() -> None:
    who = Rsa(node(50).files, node(50).bls_secret)
    async with running(node(0)) as one, running(who, tracked=(one.address,)) as two:
        await eventually(lambda: one.knows(two) and two.knows(one))

        assert two.node_id == RSA.node_id


async def test_a_node_with_the_serial_number_0_is_a_node() -> None:
    der = node(51).identity.certificate_der
    at = der.index(b"\x02\x01\x01") + 2
    zero = der[:at] + b"\0" + der[at + 1 :]

    make_context(replace(node(51).identity, certificate_der=zero))


@pytest.mark.parametrize(
    ("key", "padding", "reason"),
    [
        (lambda: ec.generate_private_key(ec.SECP384R1()), 0, "UnsupportedCurve"),
        (lambda: rsa.generate_private_key(65537, 1024), 0, "UnsupportedModulusSize"),
        (lambda: rsa.generate_private_key(3, 2048), 0, "UnsupportedExponent"),
        (ed25519.Ed25519PrivateKey.generate, 0, "UnsupportedKey"),
        (lambda: ec.generate_private_key(ec.SECP256R1()), 2048, "CertificateTooLarge"),
    ],
)
async def test_certificates_of_other_kinds_get_no_connection(
    key: Any, padding: int, reason: str, tmp_path: Path
) -> None:
    made = key()
    context = settings(made, certificate(made, padding=padding), tmp_path)
    async with running(node(0)) as one:
        with pytest.raises(ssl.SSLError, match="ALERT"):
            await speak(one.address, context)

        await eventually(lambda: one.ended[reason] == 1, f"{reason} is not in {one.ended}")


async def test_issuer_of_a_certificate_is_ignored(tmp_path: Path) -> None:
    """Only the leaf of a certificate chain is checked: the authority's key is of a kind that nodes may not use."""
    authority, key = (
        ec.generate_private_key(ec.SECP384R1()),
        ec.generate_private_key(ec.SECP256R1()),
    )
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority")])
    begun = x509.CertificateBuilder().issuer_name(name).not_valid_before(LONG_AGO)
    begun = begun.not_valid_after(LONG_AGO + datetime.timedelta(days=1)).serial_number(7)
    top = begun.subject_name(name).public_key(authority.public_key()).sign(authority, SHA256())
    leaf = begun.subject_name(x509.Name([])).public_key(key.public_key()).sign(authority, SHA256())
    context = settings(key, leaf.public_bytes(Encoding.DER), tmp_path)
    chain = tmp_path / "certificate.pem"
    chain.write_bytes(leaf.public_bytes(Encoding.PEM) + top.public_bytes(Encoding.PEM))
    context.load_cert_chain(chain, tmp_path / "key.pem")
    async with running(node(0)) as one:
        reader, writer = await asyncio.open_connection(*one.address, ssl=context)
        assert await reader.readexactly(4)  # a handshake arrives

        here = next(iter(one.network.roster))
        assert here.node_id == node_id_of(leaf.public_bytes(Encoding.DER))
        writer.transport.abort()


async def test_connection_without_certificate_is_refused() -> None:
    async with running(node(0)) as one:
        with pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):
            await speak(one.address, anonymous())

        await eventually(lambda: one.ended["TlsFailed"] == 1)


async def test_older_tls_gets_no_connection() -> None:
    context = anonymous()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    async with running(node(0)) as one:
        with pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION"):
            await speak(one.address, context)

        await eventually(lambda: one.ended["TlsFailed"] == 1)


async def test_connection_without_tls_is_refused() -> None:
    async with running(node(0)) as one:
        reader, writer = await asyncio.open_connection(*one.address)
        writer.write(b"GET / HTTP/1.1\r\nHost: node\r\n\r\n")
        await reader.read()
        writer.transport.abort()

        await eventually(lambda: one.ended["TlsFailed"] == 1)


async def test_garbage_after_tls_ends_the_connection() -> None:
    async with running(node(0)) as one:
        relayed: list[asyncio.StreamWriter] = []

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there, back = await asyncio.open_connection(*one.address)
            relayed.extend([back, writer])
            await asyncio.gather(_pour(reader, back), _pour(there, writer))

        server = await asyncio.start_server(relay, LOOPBACK, 0)
        address = server.sockets[0].getsockname()[:2]
        async with running(node(1), tracked=(address,)) as two:
            await eventually(lambda: one.knows(two))
            relayed[0].write(b"\x17\x03\x03\x00\x20" + bytes(32))

            await eventually(lambda: one.ended["TlsFailed"] == 1)
            await eventually(lambda: two.network.totals().times_disconnected >= 1)
        server.close()
        for writer in relayed:
            writer.transport.abort()


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    except ConnectionError:
        pass
    writer.close()
