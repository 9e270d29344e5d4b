"""P-Chain private keys as text, their addresses (pchain.md 1.5, 1.6), and the keys of local networks."""

from enum import StrEnum

from primitives import cb58, secp256k1
from primitives.evm import Address
from primitives.hashing import hash160
from primitives.ids import ShortID
from primitives.reasons import ErrorWithReason

PREFIX = "PrivateKey-"
SIZE = 32


class PrivateKeyReason(StrEnum):
    """Why a text is not a private key. Messages contain no part of it."""

    MISSING_KEY_PREFIX = f"private key missing {PREFIX} prefix"
    WRONG_KEY_LENGTH = f"private key has unexpected length, expected {SIZE}"


class PrivateKeyError(ErrorWithReason):
    """A text that is not a private key. Messages contain no part of it."""


def parse_private_key(text: str) -> bytes:
    """Parse a private key, 32 bytes.

    Raises:
        PrivateKeyError: The prefix is missing, or it is not 32 bytes.
        Cb58Error: The rest is not cb58.
        InvalidPrivateKey: The bytes are not a key: zero, or not below the group's order.
    """
    if not text.startswith(PREFIX):
        raise PrivateKeyError(PrivateKeyReason.MISSING_KEY_PREFIX)
    key = _decode(text.removeprefix(PREFIX))
    secp256k1.verify_private_key(key)
    return key


def format_private_key(key: bytes) -> str:
    """Return the text form of a 32-byte private key."""
    return PREFIX + cb58.encode(key)


def address_of(key: bytes) -> ShortID:
    """Return the address of a 32-byte private key.

    Raises:
        InvalidPrivateKey: The bytes are not a private key.
    """
    return ShortID(hash160(secp256k1.compressed_public_key(key)))


def _decode(text: str) -> bytes:
    try:
        return cb58.decode(text, SIZE)
    except cb58.WrongSize:
        raise PrivateKeyError(PrivateKeyReason.WRONG_KEY_LENGTH) from None


DEV_KEYS: dict[Address, str] = {
    Address(bytes.fromhex("8db97c7cece249c2b98bdc0226cc4c2a57bf52fc")): (
        "0x56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027"
    ),
    Address(bytes.fromhex("f39fd6e51aad88f6f4ce6ab8827279cfffb92266")): (
        "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
    ),
    Address(bytes.fromhex("70997970c51812dc3a010c7d01b50e0d17dc79c8")): (
        "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
    ),
    Address(bytes.fromhex("3c44cdddb6a900fa2b585dd299e03d12fa4293bc")): (
        "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"
    ),
    Address(bytes.fromhex("90f79bf6eb2c4f870365e785982e1f101e93b906")): (
        "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6"
    ),
    Address(bytes.fromhex("15d34aaf54267db7d7c367839aaf71a00a2c6a65")): (
        "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a"
    ),
    Address(bytes.fromhex("9965507d1a55bcc2695c58ba16fb37d819b0a4dc")): (
        "0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba"
    ),
    Address(bytes.fromhex("976ea74026e726554db657fa54763abd0c3a0aa9")): (
        "0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e"
    ),
    Address(bytes.fromhex("14dc79964da2c08b23698b3d3cc7ca32193d9955")): (
        "0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356"
    ),
    Address(bytes.fromhex("23618e81e3f5cdf7f54c3d65f7fbc0abf5b21e8f")): (
        "0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97"
    ),
    Address(bytes.fromhex("a0ee7a142d267c1f36714e4a8f75612f20a79720")): (
        "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"
    ),
}
"""Private keys as 0x-prefixed hex, by address."""

EWOQ_KEY = bytes.fromhex("56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027")
"""32 bytes; as text `PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN`."""

VMRQ_KEY = bytes.fromhex("7a14fdf6bb1d53e28384f70209280dd8848bdc96b5f9eb7fdde9fcddc7ef1a0d")
"""32 bytes; as text `PrivateKey-vmRQiZeXEXYMyJhEiqdC2z5JhuDbxL8ix9UVvjgMu2Er1NepE`."""

PLATFORM_DEV_KEYS = (EWOQ_KEY, VMRQ_KEY)
"""Keys that a local network funds on the P-Chain."""
