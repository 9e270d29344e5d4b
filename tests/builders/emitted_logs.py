"""Logs as transactions emit them: generated valid ones, and invalid values."""

from hypothesis import strategies as st

from cchain_app.evm.engine import Log
from primitives.evm import Address, Word

MANY = 2_000
"""From this number of logs on the crate releases the interpreter lock."""

_words = st.sampled_from([bytes([index]) * 32 for index in range(4)]) | st.binary(
    min_size=32, max_size=32
)
LOGS = st.builds(
    Log,
    address=st.binary(min_size=20, max_size=20).map(Address),
    topics=st.lists(_words.map(Word), max_size=4).map(tuple),
    data=st.binary(max_size=70) | st.integers(0, 70_000).map(bytes),
)
FEW = st.lists(LOGS, max_size=6).map(tuple)
MANY_ALIKE = st.builds(
    lambda some, count: (some * count)[:count],
    st.lists(LOGS, min_size=1, max_size=4).map(tuple),
    st.integers(MANY - 1, MANY + 1),
)
"""About `MANY` logs with few distinct ones."""

NO_LOGS = [
    (),
    (b"", (), None),
    (b"", (b"",) * 5, b""),
    (b"", [], b""),
    (b"", (7,), b""),
    (b"", (None,), b""),
    (b"", (b"", None), b""),
    7,
]
"""Values that the crate rejects."""
