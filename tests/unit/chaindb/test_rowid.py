"""Keys of rows that belong to a block."""

from chaindb.fields import PLACES, height_of, row_id


def test_a_key_knows_its_block() -> None:
    assert height_of(row_id(7, PLACES - 1)) == 7
    assert height_of(row_id(7)) == 7


def test_row_ids_are_ordered_by_block() -> None:
    assert row_id(6, PLACES - 1) < row_id(7, 0) < row_id(7, 1)
