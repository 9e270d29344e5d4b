"""Every input gets a well-formed answer or none, never an exception."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jsonrpc.dispatch.dialects import GETH, GORILLA
from jsonrpc.dispatch.dispatcher import MISS, Dispatcher
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.errors import server_busy
from primitives.json_limits import bounded, nesting
from tests.searching import cases

METHODS = ["echo", "number", "many", "nope", ""]


def interface(dialect) -> Dispatcher:
    registry = MethodRegistry()
    optional = Param("b", lambda value: value, default=None)
    registry.add("echo", lambda a, b: [a, b], params=(Param("a", lambda v: v), optional), hot=True)
    registry.add("number", lambda: "0x1", hot=True)
    registry.add(
        "many", vectorized=lambda calls: [list(call) for call in calls], params=(optional,)
    )
    return Dispatcher(registry, dialect)


DISPATCHERS = [interface(GETH), interface(GORILLA)]

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
values = st.recursive(
    scalars | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
requests = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | values,
        "id": values,
        "method": st.sampled_from(METHODS) | values,
        "params": values,
    },
)
bodies = (
    st.binary(max_size=64)
    | values.map(msgspec.json.encode)
    | requests.map(msgspec.json.encode)
    | st.lists(requests | values, max_size=6).map(msgspec.json.encode)
)


def check(answer: object, *, any_id: bool = False) -> None:
    if answer is None:
        return
    assert isinstance(answer, bytes)
    decoded = msgspec.json.decode(answer)
    answers = decoded if isinstance(decoded, list) else [decoded]
    assert answers
    for entry in answers:
        assert entry["jsonrpc"] == "2.0"
        assert any_id or not isinstance(entry["id"], list | dict)
        assert ("result" in entry) != ("error" in entry)
        if "error" in entry:
            assert isinstance(entry["error"]["code"], int)
            assert entry["error"]["code"] != -32603
            assert isinstance(entry["error"]["message"], str)


@pytest.mark.parametrize("dispatcher", DISPATCHERS, ids=["geth", "gorilla"])
@settings(max_examples=cases(50), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(body=bodies)
def test_any_body_gets_a_well_formed_answer_or_none(dispatcher: Dispatcher, body: bytes) -> None:
    any_id = dispatcher.dialect is GORILLA
    answer = dispatcher.answer(body)
    check(answer, any_id=any_id)
    hot = dispatcher.answer_hot(body)
    assert hot is MISS or hot == answer
    check(dispatcher.refuse(body, server_busy()), any_id=any_id)
    check(dispatcher.give_up(body), any_id=any_id)
    assert dispatcher.count(body) >= 1


@settings(max_examples=cases(50), deadline=None)
@given(body=bodies, cut=st.integers(0, 200), insert=st.binary(max_size=3))
def test_a_damaged_body_gets_a_well_formed_answer_or_none(
    body: bytes, cut: int, insert: bytes
) -> None:
    for dispatcher in DISPATCHERS:
        any_id = dispatcher.dialect is GORILLA
        check(dispatcher.answer(body[:cut] + insert + body[cut:]), any_id=any_id)
        check(dispatcher.answer(body[:cut]), any_id=any_id)


@settings(max_examples=cases(30), deadline=None)
@given(requests=st.lists(requests, min_size=1, max_size=6))
def test_batch_equals_its_single_calls(requests: list[dict]) -> None:
    dispatcher = DISPATCHERS[0]
    singles = [dispatcher.answer(msgspec.json.encode(request)) for request in requests]
    expected = [msgspec.json.decode(answer) for answer in singles if answer is not None]
    answer = dispatcher.answer(msgspec.json.encode(requests))
    assert (msgspec.json.decode(answer) if answer is not None else []) == expected


def depth(value: object) -> int:
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 0


texts = st.text(alphabet='[]{}"\\ab', max_size=12)
bracket_values = st.recursive(
    texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=20,
)


@given(value=bracket_values)
def test_nesting_is_the_depth_of_the_decoded_value(value: object) -> None:
    assert nesting(msgspec.json.encode(value)) == depth(value)


pieces = st.sampled_from(
    [
        b'"',
        b"\\",
        b'\\"',
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b"a",
        b"\\n" * 20,
        b"\\n" * 5000,
        b"a" * 9000,
        b'"%b"' % (b"," * 600),
        b'"a",' * 1100,
    ]
)


def outside(text: bytes) -> list[tuple[int, int]]:
    """Return the characters outside strings with their positions, byte by byte."""
    signs, inside, place = [], False, 0
    while place < len(text):
        byte = text[place]
        if inside and byte == ord("\\"):
            place += 1
        elif byte == ord('"'):
            inside = not inside
        elif not inside and byte in b"[]{},":
            signs.append((place, byte))
        place += 1
    return signs


@settings(max_examples=cases(200), deadline=None)
@given(body=st.lists(pieces, max_size=30).map(b"".join), most=st.integers(0, 5))
def test_strings_are_read_as_if_byte_by_byte(body: bytes, most: int) -> None:
    level = deepest = commas = 0
    cut = body
    for place, byte in outside(body):
        level += (byte in b"[{") - (byte in b"]}")
        deepest = max(deepest, level)
        commas += byte == ord(",") and level == 1
        if commas > most and cut == body:
            cut = body[:place] + b"]"
    assert nesting(body) == deepest
    assert bounded(body, most, 64) == cut
