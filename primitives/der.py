"""A minimal DER parser that finds the public key in a certificate.

X.509 libraries reject certificates that the network accepts, such as those with serial number 0 that
its nodes generate. Therefore this module checks only the outer structure of a certificate.
"""

from typing import NamedTuple

_SEQUENCE = 0x30
_EXPLICIT_VERSION = 0xA0


class DerError(Exception):
    """Bytes that are not the expected DER."""

    def __init__(self) -> None:
        super().__init__("malformed certificate")


class Element(NamedTuple):
    """One element: its tag, its content, and all of its bytes."""

    tag: int
    content: bytes
    raw: bytes


def subject_public_key_info(certificate: bytes) -> bytes:
    """Return the DER of a certificate's public key.

    Raises:
        DerError: The bytes do not have the structure of a certificate.
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
    """Read the element at `start`; also return its end."""
    header = data[start : start + 2]
    if len(header) < 2:
        raise DerError
    tag, size = header
    position = start + 2
    if size >= 0x80:
        # certificates have lengths of at most two bytes; 0x80 alone is indefinite, which is BER
        size_of_size = size - 0x80
        if size_of_size not in {1, 2}:
            raise DerError
        size = int.from_bytes(data[position : position + size_of_size], "big")
        position += size_of_size
    end = position + size
    if end > len(data):
        raise DerError
    return Element(tag, data[position:end], data[start:end]), end
