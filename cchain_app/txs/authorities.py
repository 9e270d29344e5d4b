"""Authorities of EIP-7702: the accounts that signed the authorizations of a type 4 transaction.

The engine applies the authorizations; the pool's rules for authorities are in
`pool.delegation`.
"""

from collections.abc import Iterable, Sequence
from itertools import chain, islice

from cchain_app.txs.codec import RecoverMany
from cchain_app.txs.transaction import Authorization, Transaction
from primitives import rlp, secp256k1
from primitives.evm import Address, Hash
from primitives.hashing import keccak256
from primitives.secp256k1 import SignedDigest

_MAGIC = b"\x05"


def authorization_digest(chain_id: int, address: Address, nonce: int) -> Hash:
    """Return the hash that an authority signs."""
    fields = (rlp.encode_uint(chain_id), rlp.encode_bytes(address), rlp.encode_uint(nonce))
    return keccak256(_MAGIC + rlp.encode_list(fields))


def authorities_of(
    transactions: Sequence[Transaction], recover: RecoverMany
) -> list[tuple[Address, ...]]:
    """Return each transaction's distinct authorities, all recovered in one call.

    Unspecified: as in go-ethereum only the signature must be valid. An authorization for
    another chain, or with a nonce that cannot be next, has an authority too.
    """
    signatures = [_signatures(transaction.authorizations) for transaction in transactions]
    together = list(chain.from_iterable(signatures))
    found = iter(recover(together) if together else ())
    return [_each_once(islice(found, len(those))) for those in signatures]


def _signatures(authorizations: Sequence[Authorization]) -> list[SignedDigest]:
    """Return the authorizations whose values are in range, as recovery requires."""
    return [
        SignedDigest(authorization_digest(chain_id, address, nonce), r, s, y_parity)
        for chain_id, address, nonce, y_parity, r, s in authorizations
        if secp256k1.is_valid(r, s, y_parity)
    ]


def _each_once(recovered: Iterable[Address | None]) -> tuple[Address, ...]:
    return tuple(dict.fromkeys(address for address in recovered if address is not None))
