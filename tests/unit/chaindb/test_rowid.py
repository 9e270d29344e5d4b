"""Keys of rows that belong to a block."""

from chaindb.fields import PLACES, height_of, row_id


def test_a_key_knows_its_block() -> None:
    assert height_of(row_id(7, PLACES - 1)) == 7
    assert height_of(row_id(7)) == 7


def test_the_rows_of_a_block_come_after_those_of_the_one_before() -> None:
    assert row_id(6, PLACES - 1) < row_id(7, 0) < row_id(7, 1)
