"""Requests at the Unix socket: objects and arrays of JSON, however their bytes arrive."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeproject.processes.ipc import JsonStream, MalformedStream

LIMIT = 1000
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8))
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
).filter(lambda value: isinstance(value, list | dict))


@given(
    values=st.lists(VALUES, max_size=4),
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=20),
    blank=st.sampled_from(["", "\n", " \r\n\t"]),
)
def test_values_are_found_wherever_the_bytes_are_split(
    values: list[Any], sizes: list[int], blank: str
) -> None:
    data = blank.join(json.dumps(value, ensure_ascii=False) for value in values).encode()
    stream, found = JsonStream(10**6), []
    while data:
        size = sizes[len(found) % len(sizes)]
        found += list(stream.feed(data[:size]))
        data = data[size:]

    assert [json.loads(item) for item in found] == values


@pytest.mark.parametrize("data", [b"1", b'"a"', b" null", b"}", b'{"a":1} x'])
def test_text_outside_objects_and_arrays_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedStream):
        list(JsonStream(LIMIT).feed(data))


def test_a_value_has_a_limit() -> None:
    stream = JsonStream(LIMIT)
    assert list(stream.feed(b"[" + b"1" * (LIMIT - 2))) == []
    assert len(next(iter(stream.feed(b"]")))) == LIMIT

    with pytest.raises(MalformedStream):
        list(stream.feed(b"[" + b"1" * LIMIT))
