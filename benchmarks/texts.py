"""Text forms of bytes for P-Chain clients: cb58 for IDs, bech32 for addresses, hex with a checksum."""

import hashlib

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
BECH32_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
CHECKSUM = 4


def checksummed(data: bytes) -> bytes:
    """Return bytes followed by the last bytes of their hash."""
    return data + hashlib.sha256(data).digest()[-CHECKSUM:]


def hexed(data: bytes) -> str:
    """Return bytes in the encoding "hex"."""
    return "0x" + checksummed(data).hex()


def unhexed(text: str) -> bytes:
    """Return the bytes of a text in the encoding "hex"."""
    return bytes.fromhex(text[2:])[:-CHECKSUM]


def cb58(data: bytes) -> str:
    """Return the text form of an ID."""
    whole = checksummed(data)
    number, letters = int.from_bytes(whole, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        letters = BASE58[digit] + letters
    return BASE58[0] * (len(whole) - len(whole.lstrip(b"\0"))) + letters


def uncb58(text: str, size: int) -> bytes:
    """Return the bytes of an ID's text form, which must have this size."""
    number = 0
    for letter in text:
        number = number * 58 + BASE58.index(letter)
    return number.to_bytes(size + CHECKSUM, "big")[:-CHECKSUM]


def address(hrp: str, short_id: bytes) -> str:
    """Return an address of the P-Chain (BIP 173, with the chain's letter in front)."""
    number = int.from_bytes(short_id, "big")
    values = [number >> shift & 31 for shift in range(len(short_id) * 8 - 5, -1, -5)]
    expanded = [ord(other) >> 5 for other in hrp] + [0] + [ord(item) & 31 for item in hrp]
    remainder = _polymod([*expanded, *values, *[0] * 6]) ^ 1
    values += [remainder >> 5 * (5 - place) & 31 for place in range(6)]
    return f"P-{hrp}1" + "".join(BECH32[value] for value in values)


def _polymod(values: list[int]) -> int:
    remainder = 1
    for value in values:
        top = remainder >> 25
        remainder = (remainder & 0x1FFFFFF) << 5 ^ value
        for place, factor in enumerate(BECH32_GENERATOR):
            if top >> place & 1:
                remainder ^= factor
    return remainder
