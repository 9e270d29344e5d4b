"""The little of DER that finds the public key in a certificate.

X.509 libraries refuse certificates that the network accepts, those with the serial number 0 that
its nodes make of themselves: so nothing of a certificate is judged here but its outer shape.
"""

from typing import NamedTuple

_SEQUENCE = 0x30
_EXPLICIT_VERSION = 0xA0


class DerError(Exception):
    """Bytes that are not the DER of what was expected."""

    def __init__(self) -> None:
        super().__init__("malformed certificate")


class Element(NamedTuple):
    """One element: its tag, what is in it, and all of it."""

    tag: int
    content: bytes
    raw: bytes


def subject_public_key_info(certificate: bytes) -> bytes:
    """Return the DER of a certificate's public key.

    Raises:
        DerError: The bytes have not the shape of one certificate.
    """
    outer, end = _read(certificate, 0)
    if end != len(certificate):
        raise DerError
    fields = _children(_children(outer)[0])
    if fields and fields[0].tag == _EXPLICIT_VERSION:
        del fields[0]
    # serial number, signature algorithm, issuer, validity, subject
    if len(fields) < 6:
        raise DerError
    return fields[5].raw


def _children(parent: Element) -> list[Element]:
    """Return the elements of a sequence, at least one."""
    if parent.tag != _SEQUENCE or not parent.content:
        raise DerError
    elements, position = [], 0
    while position < len(parent.content):
        element, position = _read(parent.content, position)
        elements.append(element)
    return elements


def _read(data: bytes, start: int) -> tuple[Element, int]:
    """Read the element at start; also return where it ends."""
    header = data[start : start + 2]
    if len(header) < 2:
        raise DerError
    tag, size = header
    position = start + 2
    if size >= 0x80:
        # no certificate has more than two bytes of length; 0x80 alone is indefinite, which is BER
        size_of_size = size - 0x80
        if size_of_size not in {1, 2}:
            raise DerError
        size = int.from_bytes(data[position : position + size_of_size], "big")
        position += size_of_size
    end = position + size
    if end > len(data):
        raise DerError
    return Element(tag, data[position:end], data[start:end]), end
