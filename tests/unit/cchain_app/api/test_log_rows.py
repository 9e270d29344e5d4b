"""Rows of logs as bytes: the crate renders what `wire` says, whatever is in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.api.rendered import render_each_log
from cchain_app.selectors.logs import LogRow

native = pytest.importorskip("cchain_app.memory.native")

AT_ONCE = 3

hashes = st.binary(min_size=32, max_size=32)
numbers = st.integers(0, 2**63 - 1) | st.integers(0, 20)
topics = st.lists(hashes, max_size=4).map(lambda some: (*some, None, None, None, None)[:4])


@st.composite
def rows(draw: st.DrawFn) -> LogRow:
    """Draw a row as the selector reads it."""
    address = draw(st.binary(min_size=20, max_size=20))
    block = draw(numbers), draw(hashes), draw(numbers)
    return (
        address,
        *draw(topics),
        draw(st.binary()),
        *block,
        draw(hashes),
        draw(numbers),
        draw(numbers),
    )


@given(st.lists(rows(), max_size=3 * AT_ONCE))
def test_the_crate_renders_logs_as_python_does(drawn: list[LogRow]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(native, "_LOGS_AT_ONCE", AT_ONCE)
        parts = native.render_logs(drawn)
    each = list(render_each_log(drawn))
    assert b",".join(parts) == b",".join(each)
    assert native.render_each_log(drawn) == each
    assert len(parts) == -(-len(drawn) // AT_ONCE)


@pytest.mark.parametrize("row", [(), (b"",) * 12, (None,) * 12, 7])
def test_what_is_no_row_of_a_log_is_refused(row: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        native.render_logs([row])
