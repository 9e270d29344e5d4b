"""The two ciphersuites of the network's BLS signatures."""

from enum import Enum


class Suite(Enum):
    """What is signed; the tag keeps signatures of one kind from counting as the other."""

    MESSAGE = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_"
    POSSESSION = b"BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_"
    """Proofs of possession, and what a node says of its own address."""
