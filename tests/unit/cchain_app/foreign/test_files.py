"""Chain files are read block by block, however long each is; errors name the position."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.foreign.files import MAX_BYTES, ChainFileError, ChainFileReason, read_blocks
from primitives import rlp
from tests.builders.reasons import raises

blocks = st.lists(
    st.binary(max_size=300).map(lambda data: rlp.encode_list([rlp.encode_bytes(data)]))
)


@given(blocks)
def test_blocks_are_read_in_file_order(raws: list[bytes]) -> None:
    assert list(read_blocks(BytesIO(b"".join(raws)))) == raws


@given(blocks, st.integers(min_value=0, max_value=99))
def test_truncated_file_yields_its_complete_blocks(raws: list[bytes], part: int) -> None:
    last = rlp.encode_list([rlp.encode_bytes(bytes(100))])
    cut = b"".join(raws) + last[: 1 + part]

    reader = read_blocks(BytesIO(cut))
    assert [next(reader) for _ in raws] == raws
    with raises(
        ChainFileReason.INCOMPLETE, kind=ChainFileError, match="the file ends within a block"
    ) as caught:
        next(reader)
    assert caught.value.values["position"] == sum(map(len, raws))


def test_a_block_that_would_be_too_long_is_not_read() -> None:
    class Endless(BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            assert size is not None
            assert size <= 8
            return super().read(size)

    file = Endless(b"\xfb" + (MAX_BYTES + 1).to_bytes(4, "big"))
    with raises(
        ChainFileReason.TOO_LONG, kind=ChainFileError, match=f"a block of {MAX_BYTES + 1} bytes"
    ):
        list(read_blocks(file))


@pytest.mark.parametrize("file", [b"\x00", b"\x80", b"text", b"\xbf"])
def test_file_without_rlp_list_is_refused(file: bytes) -> None:
    with raises(
        ChainFileReason.NO_BLOCK, kind=ChainFileError, match="at byte 0: not the RLP of a block"
    ):
        list(read_blocks(BytesIO(file)))
