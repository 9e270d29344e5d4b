"""BLS with blspy, which is C. Called through `bls` only."""

from blspy import G1Element, G2Element, PopSchemeMPL, PrivateKey

from primitives.bls_suite import Suite

_GENERATOR = G1Element.generator()
_IDENTITY = G1Element()


def public_key(secret: bytes) -> bytes:
    """Return the public key of a secret key."""
    return bytes(PrivateKey.from_bytes(secret).get_g1())


def sign(secret: bytes, message: bytes, suite: Suite) -> bytes:
    """Return the signature."""
    key = PrivateKey.from_bytes(secret)
    if suite is Suite.MESSAGE:
        return bytes(PopSchemeMPL.sign(key, message))
    if message == bytes(key.get_g1()):
        return bytes(PopSchemeMPL.pop_prove(key))
    # the library has no name for this: other messages under the tag of proofs
    return bytes(_multiply(G2Element.from_message(message, suite.value), secret))


def is_signature(signature: bytes) -> bool:
    """Say whether bytes are a signature's: of a point in the subgroup, the identity too."""
    try:
        G2Element.from_bytes(signature)
    except ValueError:
        return False
    return True


def verify(public_key: bytes, message: bytes, signature: bytes, suite: Suite) -> bool:
    """Say whether the signature is this message's by this key; False for what is no key."""
    try:
        key = G1Element.from_bytes(public_key)
        point = G2Element.from_bytes(signature)
    except ValueError:
        return False
    if key == _IDENTITY:
        return False
    if suite is Suite.MESSAGE:
        return bool(PopSchemeMPL.verify(key, message, point))
    if message == public_key:
        return bool(PopSchemeMPL.pop_verify(key, point))
    hashed = G2Element.from_message(message, suite.value)
    return bool(key.pair(hashed) == _GENERATOR.pair(point))


def _multiply(point: G2Element, secret: bytes) -> G2Element:
    """Return the point times the secret: double and add, from the identity."""
    product = G2Element()
    for bit in f"{int.from_bytes(secret, 'big'):b}":
        product += product
        if bit == "1":
            product += point
    return product
