"""Transfers are parsed only from logs that conform to the token standards."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from explorer_app.tokens import events
from explorer_app.tokens.events import (
    BalanceChange,
    TokenStandard,
    Transfer,
    changes,
    read_transfers,
)
from primitives.evm import ZERO_ADDRESS, Address
from tests.builders.bytecode import words

A, B, C = (Address(bytes([number]) * 20) for number in (1, 2, 3))
MOST = 2**256 - 1


def topics(*values: int | bytes) -> list[bytes]:
    return [words(value) for value in values]


def test_the_number_of_topics_distinguishes_erc20_from_erc721() -> None:
    assert read_transfers(topics(events.TRANSFER, A, B), words(5)) == [
        Transfer(TokenStandard.ERC20, A, B, 5)
    ]
    assert read_transfers(topics(events.TRANSFER, A, B, 5), b"") == [
        Transfer(TokenStandard.ERC721, A, B, 1, 5)
    ]


@pytest.mark.parametrize(
    ("data", "value"), [(b"\x05", 5), (words(5, 6), 5), (b"\0" * 31 + b"\x01" + b"\xff" * 7, 1)]
)
def test_an_amount_is_at_most_the_first_32_bytes(data: bytes, value: int) -> None:
    (found,) = read_transfers(topics(events.TRANSFER, A, B), data)

    assert found.value == value


def test_an_event_without_an_amount_is_not_a_transfer() -> None:
    assert read_transfers(topics(events.TRANSFER, A, B), b"") == []


@pytest.mark.parametrize("collection", [True, False])
def test_without_indexed_parameters_the_contract_determines_the_standard(
    *, collection: bool
) -> None:
    (found,) = read_transfers(topics(events.TRANSFER), words(A, B, 5), is_collection=collection)

    expected = (
        Transfer(TokenStandard.ERC721, A, B, 1, 5)
        if collection
        else Transfer(TokenStandard.ERC20, A, B, 5)
    )
    assert found == expected
    assert read_transfers(topics(events.TRANSFER), words(A, B, 5)[:-1]) == []


def test_erc1155_transfer_has_id_and_value() -> None:
    single = topics(events.TRANSFER_SINGLE, C, A, B)

    assert read_transfers(single, words(7, 5)) == [Transfer(TokenStandard.ERC1155, A, B, 5, 7)]
    assert read_transfers(single, words(7, 5)[:-1]) == []


BATCH = topics(events.TRANSFER_BATCH, C, A, B)


def test_a_batch_is_a_transfer_for_each_id() -> None:
    assert read_transfers(BATCH, words(64, 160, 2, 7, 8, 2, 70, 80)) == [
        Transfer(TokenStandard.ERC1155, A, B, 70, 7), Transfer(TokenStandard.ERC1155, A, B, 80, 8),
    ]  # fmt: skip
    assert read_transfers(BATCH, words(64, 96, 0, 0)) == []


@pytest.mark.parametrize(
    "data",
    [
        words(64, 160, 2, 7, 8, 1, 70),
        words(64, 160, 2, 7, 8, 3, 70, 80),
        words(64, MOST, 2, 7, 8, 2, 70, 80),
        words(MOST, 64, 1, 1),
        words(64, 64, MOST, 1),
        words(64, 64, 1_001, *range(1_001)),
        words(64),
        b"",
    ],
    ids=["lengths", "too few", "offset", "first offset", "length", "too many", "short", "nothing"],
)
def test_a_malformed_batch_is_ignored(data: bytes) -> None:
    assert read_transfers(BATCH, data) == []


def test_largest_batch_fits_the_data_limit() -> None:
    ids = list(range(events.MAX_ROWS))
    data = words(64, 96 + 32 * len(ids), len(ids), *ids, len(ids), *ids)

    assert len(data) == events.MAX_DATA
    assert len(read_transfers(BATCH, data)) == events.MAX_ROWS


def test_wrapped_coins_are_minted_and_burned() -> None:
    deposit, withdrawal = topics(events.DEPOSIT, A), topics(events.WITHDRAWAL, A)

    assert read_transfers(deposit, words(5)) == [Transfer(TokenStandard.ERC20, ZERO_ADDRESS, A, 5)]
    assert read_transfers(withdrawal, words(5)) == [
        Transfer(TokenStandard.ERC20, A, ZERO_ADDRESS, 5)
    ]
    assert events.is_wrapping(deposit)
    assert not events.is_wrapping(topics(events.DEPOSIT, A, B))
    assert read_transfers(topics(events.DEPOSIT, A, B), words(5)) == []


def test_consecutive_range_is_one_transfer() -> None:
    made = topics(events.CONSECUTIVE_TRANSFER, 10, ZERO_ADDRESS, A)

    (found,) = read_transfers(made, words(12))

    assert found == Transfer(TokenStandard.ERC721, ZERO_ADDRESS, A, 3, 10, 12)
    assert list(found.token_ids) == [10, 11, 12]
    assert list(changes(found)) == [BalanceChange(A, TokenStandard.ERC721, None, 3)]
    assert read_transfers(made, words(9)) == []
    assert read_transfers(made, b"") == []
    (all_of_them,) = read_transfers(made, words(MOST))
    assert len(all_of_them.token_ids) == events.MAX_OWNERS
    (every,) = read_transfers(topics(events.CONSECUTIVE_TRANSFER, 0, ZERO_ADDRESS, A), words(MOST))
    assert every.value == MOST


def test_the_zero_address_holds_nothing() -> None:
    mint, burn = (
        Transfer(TokenStandard.ERC20, ZERO_ADDRESS, A, 5),
        Transfer(TokenStandard.ERC20, A, ZERO_ADDRESS, 5),
    )

    assert list(changes(mint)) == [BalanceChange(A, TokenStandard.ERC20, None, 5)]
    assert list(changes(burn)) == [BalanceChange(A, TokenStandard.ERC20, None, -5)]
    assert list(changes(Transfer(TokenStandard.ERC1155, A, B, 5, 9))) == [
        BalanceChange(A, TokenStandard.ERC1155, 9, -5), BalanceChange(B, TokenStandard.ERC1155, 9, 5),
    ]  # fmt: skip
    assert mint.is_supply_change
    assert burn.is_supply_change
    assert not Transfer(TokenStandard.ERC20, A, B, 5).is_supply_change


def test_other_logs_are_not_transfers() -> None:
    assert read_transfers([], words(5)) == []
    assert read_transfers(topics(1, A, B), words(5)) == []
    assert read_transfers(topics(events.TRANSFER, A), words(5)) == []
    assert read_transfers(topics(events.TRANSFER_SINGLE, A, B), words(7, 5)) == []


@given(
    some.sampled_from(events.TOPICS),
    some.lists(some.binary(min_size=32, max_size=32), max_size=3),
    some.binary(max_size=400),
)
def test_any_log_is_read_as_numbers_within_range(
    topic: bytes, others: list[bytes], data: bytes
) -> None:
    for transfer in read_transfers([topic, *others], data):
        numbers = (transfer.value, transfer.token_id or 0, transfer.last_token_id or 0)
        assert all(0 <= number <= MOST for number in numbers)
        assert len(transfer.sender) == len(transfer.to) == 20
        assert len(transfer.token_ids) <= events.MAX_OWNERS


def test_topics_match_the_standards() -> None:
    assert events.TRANSFER.hex().startswith("ddf252ad")
    assert events.TRANSFER_SINGLE.hex().startswith("c3d58168")
    assert events.TRANSFER_BATCH.hex().startswith("4a39dc06")
    assert events.CONSECUTIVE_TRANSFER.hex().startswith("deaa91b6")
    assert events.DEPOSIT.hex().startswith("e1fffcc4")
    assert events.WITHDRAWAL.hex().startswith("7fcf532c")
