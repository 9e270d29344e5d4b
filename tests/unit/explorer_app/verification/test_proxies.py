"""Proxies whose code contains the implementation's address, and words that are addresses."""

import pytest

from explorer_app.verification.proxies import (
    MAX_FACETS,
    ProxyKind,
    address_of,
    addresses_of,
    delegates,
    target_in_code,
)

ADDRESS = bytes(range(1, 21))
SHORT = bytes(4) + bytes(range(1, 17))


def minimal(address: bytes = ADDRESS) -> bytes:
    return (
        bytes.fromhex("363d3d373d3d3d363d73") + address
        + bytes.fromhex("5af43d82803e903d91602b57fd5bf3")
    )  # fmt: skip


def test_a_minimal_proxy_has_its_implementation_in_its_code() -> None:
    found = target_in_code(minimal())

    assert found is not None
    assert (found.kind, found.address) == (ProxyKind.MINIMAL, ADDRESS)


def test_shortened_address_in_minimal_proxy_is_found() -> None:
    code = (
        bytes.fromhex("363d3d373d3d3d363d6f") + SHORT[4:]
        + bytes.fromhex("5af43d82803e903d91602757fd5bf3")
    )  # fmt: skip
    found = target_in_code(code)

    assert found is not None
    assert found.address == SHORT


def test_soladys_minimal_proxy_is_recognised() -> None:
    code = (
        bytes.fromhex("3d3d3d3d363d3d37363d73")
        + ADDRESS
        + bytes.fromhex("5af43d3d93803e602a57fd5bf3")
    )
    found = target_in_code(code)

    assert found is not None
    assert (found.kind, found.address, found.arguments) == (ProxyKind.MINIMAL, ADDRESS, b"")


def test_a_clone_has_arguments_behind_its_code() -> None:
    code = (
        bytes.fromhex("363d3d373d3d3d363d73")
        + ADDRESS
        + bytes.fromhex("5af43d3d93803e602a57fd5bf3")
    )
    found = target_in_code(code + b"\x2a")

    assert found is not None
    assert (found.kind, found.address, found.arguments) == (ProxyKind.CLONE, ADDRESS, b"\x2a")


@pytest.mark.parametrize(
    "code", [b"", minimal()[:9], minimal()[:-1], minimal() + b"\0", b"\x60\0\xf4"]
)
def test_other_code_is_not_a_minimal_proxy(code: bytes) -> None:
    assert target_in_code(code) is None


def test_word_with_twelve_zero_bytes_is_an_address() -> None:
    assert address_of(bytes(12) + ADDRESS) == ADDRESS
    assert address_of(bytes(32)) is None
    assert address_of(b"\1" + bytes(11) + ADDRESS) is None
    assert address_of(ADDRESS) is None


def test_an_array_of_addresses_is_read_whole_or_not_at_all() -> None:
    word = bytes(12) + ADDRESS
    head = (32).to_bytes(32, "big")

    assert addresses_of(head + (2).to_bytes(32, "big") + word + word) == [ADDRESS]
    many = [bytes(31) + bytes([number]) for number in range(1, 60)]
    found = addresses_of(head + (118).to_bytes(32, "big") + b"".join(many + many))
    assert found == [word[12:] for word in many[:MAX_FACETS]]
    assert addresses_of(head + (3).to_bytes(32, "big") + word + word) == []
    assert addresses_of(head + (2**255).to_bytes(32, "big") + word) == []
    assert addresses_of(head + (1).to_bytes(32, "big") + bytes(32)) == []
    assert addresses_of(word) == []


def test_push_data_is_not_an_instruction() -> None:
    assert delegates(b"\x60\x00\xf4")
    assert not delegates(b"\x61\xf4\xf4")
