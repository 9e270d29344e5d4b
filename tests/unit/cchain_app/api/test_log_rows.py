"""Logs encoded from rows and from receipts: the crate gives the same bytes as `wire` for any content."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.api.rendered import LogsPlace, RenderedLogs, render_log, render_logs
from cchain_app.evm.engine import Log
from cchain_app.selectors.logs import FoundLog, LogRow, found_log
from tests.builders.emitted_logs import FEW, MANY_ALIKE, NO_LOGS

native = pytest.importorskip("cchain_app.memory.native")

AT_ONCE = 3

hashes = st.binary(min_size=32, max_size=32)
numbers = st.integers(0, 2**63 - 1) | st.integers(0, 20)
topics = st.lists(hashes, max_size=4).map(lambda some: (*some, None, None, None, None)[:4])


@st.composite
def rows(draw: st.DrawFn) -> LogRow:
    """Draw a row in the form that the selector reads."""
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
        parts = native.render_log_rows(drawn)
    assert b",".join(parts) == b",".join(render_log(found_log(row)) for row in drawn)
    assert len(parts) == -(-len(drawn) // AT_ONCE)


@pytest.mark.parametrize("row", [(), (b"",) * 12, (None,) * 12, 7])
def test_an_invalid_row_of_a_log_is_refused(row: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        native.render_log_rows([row])


places = st.tuples(numbers, hashes, numbers, hashes, numbers)


@given(FEW | MANY_ALIKE, places, numbers)
def test_the_crate_renders_the_logs_of_a_receipt_as_python_does(
    drawn: tuple[Log, ...], place: LogsPlace, first: int
) -> None:
    found = RenderedLogs(*native.render_logs(drawn, place, first))
    assert found == render_logs(drawn, place, first)
    number, block_hash, timestamp, sent, index = place
    assert [bytes(text) for text in found.texts()] == [
        render_log(FoundLog(*log, number, block_hash, timestamp, sent, index, log_index))
        for log_index, log in enumerate(drawn, first)
    ]


@pytest.mark.parametrize("log", NO_LOGS)
def test_malformed_log_is_refused(log: Log) -> None:
    with pytest.raises((TypeError, ValueError)):
        native.render_logs((log,), (1, b"", 2, b"", 3), 0)
