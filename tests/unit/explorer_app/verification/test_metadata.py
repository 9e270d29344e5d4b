"""The metadata section after a contract's code, and bytes that only resemble one."""

import pytest

from explorer_app.verification.metadata import hashes_in, section_of

IPFS = (
    bytes.fromhex("a264697066735822")
    + b"\x12\x20"
    + b"\x11" * 32
    + bytes.fromhex("64736f6c6343000825")
)
OLD = bytes.fromhex("a165627a7a72305820") + b"\x22" * 32
NONE = bytes.fromhex("a164736f6c6343000825")
NIGHTLY = bytes.fromhex("a164736f6c63") + b"\x6d0.8.37-night."
EXPERIMENTAL = bytes.fromhex("a16c6578706572696d656e74616cf5")


def closed(section: bytes) -> bytes:
    return b"\x60\x00\xfe" + section + len(section).to_bytes(2, "big")


@pytest.mark.parametrize(
    ("section", "found"),
    [
        (IPFS, b"\x12\x20" + b"\x11" * 32),
        (OLD, b"\x22" * 32),
        (NONE, b""),
        (NIGHTLY, b""),
        (EXPERIMENTAL, b""),
    ],
)
def test_a_section_has_the_hash_of_its_compilers_time(section: bytes, found: bytes) -> None:
    code = closed(section)

    read = section_of(code)

    assert read is not None
    assert read.length == len(section) + 2
    assert read.hash == found


@pytest.mark.parametrize(
    "code",
    [
        b"",
        b"\x00",
        b"\x00\x00",
        b"\xff\xff",
        b"\x60\x00\x00\x02",
        closed(IPFS[:-1]),
        closed(b"\xa1" + IPFS[1:]),
        closed(b"\x80"),
        closed(b"\xa1\x61"),
        closed(b"\xa1\x01\x01"),
        closed(b"\xbf"),
        closed(IPFS) + b"\x00",
    ],
)
def test_other_code_endings_are_not_a_metadata_section(code: bytes) -> None:
    assert section_of(code) is None


def test_hashes_are_found_within_a_code() -> None:
    code = closed(IPFS) + closed(OLD)

    assert [code[start:stop] for start, stop in hashes_in(code)] == [
        b"\x12\x20" + b"\x11" * 32,
        b"\x22" * 32,
    ]
