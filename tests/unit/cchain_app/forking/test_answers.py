"""Answers of a fork's remote node are checked before they are decoded."""

import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from msgspec import Raw

from cchain_app.forking import answers
from cchain_app.forking.errors import BadUpstreamAnswer
from primitives import json_limits

LENGTH = 1_000_000
VALUES = [
    b"[],", b"{},", b'"a",', b"300,", b"1.5,", b'{"a":[]},', b"[[[[[[[[]]]]]]]],", b'"\xf0\x9f\x98\x80",'
]  # fmt: skip


def response(result: bytes) -> bytes:
    """Return a response with a result."""
    return b'{"jsonrpc":"2.0","id":1,"result":' + result + b"}"


def decoded(result: bytes) -> Any:
    """Return the result of a response whose values were counted."""
    return answers.decode(answers.read_answer(response(result), answers.DECODED)[0])


def passed_on(result: bytes) -> bytes:
    """Return the result of a response that is passed on."""
    return bytes(answers.read_answer(response(result))[0])


def peak(read: Callable[[bytes], Any], text: bytes) -> int:
    """Return the number of bytes allocated while a text is read, including the text."""
    with suppress(BadUpstreamAnswer):
        read(text[:100])  # allocations that happen only once
    tracemalloc.start()
    try:
        with suppress(BadUpstreamAnswer):
            read(text)
        return len(text) + tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def read_decoded(content: bytes) -> None:
    answers.decode(answers.read_answer(content, answers.DECODED)[0])


def read_listed(content: bytes) -> None:
    answers.decode(answers.read_answer(content, answers.LISTED)[0], list[Raw])


@pytest.mark.parametrize("value", VALUES)
def test_an_answer_full_of_small_values_is_refused_before_it_is_decoded(value: bytes) -> None:
    text = b"[" + value * (LENGTH // len(value)) + b"0]"

    with pytest.raises(BadUpstreamAnswer):
        decoded(text)

    assert peak(read_decoded, response(text)) < 1.2 * LENGTH


@pytest.mark.parametrize("value", VALUES)
def test_the_values_of_an_answer_take_four_times_its_bytes_at_most(value: bytes) -> None:
    signs = sum(map(value.count, (b",", b"[", b"{")))
    values = value * (LENGTH // answers.DECODED // signs)
    text = b'["' + b"x" * (LENGTH - len(values)) + b'",' + values + b"0]"

    assert isinstance(decoded(text), list)
    assert peak(read_decoded, response(text)) < 4 * LENGTH


def test_the_members_of_an_answer_take_four_times_its_bytes_at_most() -> None:
    names = b"".join(b'"%x":0,' % number for number in range(LENGTH // answers.DECODED))
    text = b"{" + names + b'"x":"' + b"x" * (LENGTH - len(names)) + b'"}'

    assert isinstance(decoded(text), dict)
    assert peak(read_decoded, response(text)) < 4.2 * LENGTH


def test_the_elements_of_a_list_take_four_times_its_bytes_at_most() -> None:
    values = b"0," * (LENGTH // answers.LISTED)
    text = b'["' + b"x" * (LENGTH - len(values)) + b'",' + values + b"0]"

    assert peak(read_listed, response(text)) < 4 * LENGTH


def test_forwarded_result_is_not_copied() -> None:
    text = response(b"[" + b"[]," * (LENGTH // 3) + b"0]")

    assert peak(answers.read_answer, text) < 4 * LENGTH


def test_large_honest_answers_are_accepted() -> None:
    transaction = (
        b'{"blockHash":"0x%064x","blockNumber":"0x1","from":"0x%040x","gas":"0x5208","gasPrice":"0x1",'
        b'"hash":"0x%064x","input":"0x","nonce":"0x0","to":"0x%040x","transactionIndex":"0x0","value":"0x0",'
        b'"type":"0x1","accessList":[],"chainId":"0x1","v":"0x0","r":"0x%064x","s":"0x%064x","yParity":"0x0"}'
    ) % (1, 1, 1, 1, 1, 1)
    log = (
        b'{"address":"0x%040x","topics":[],"data":"0x","blockNumber":"0x1","transactionHash":"0x%064x",'
        b'"transactionIndex":"0x0","blockHash":"0x%064x","logIndex":"0x0","removed":false}'
    ) % (1, 1, 1)
    for element in (transaction, log):
        text = b"[" + b",".join([element] * 5000) + b"]"
        listed = answers.decode_uncounted(Raw(text), list[Raw], answers.LISTED)
        assert len(listed) == 5000
    hashes = b"[" + b",".join([b'"0x%064x"' % 1] * 20_000) + b"]"
    assert len(decoded(hashes)) == 20_000


@pytest.mark.parametrize("brackets", [b"[]", b"{}"])
def test_deeply_nested_answer_is_refused(brackets: bytes) -> None:
    opening = brackets[:1] if brackets == b"[]" else b'{"a":'
    text = opening * 200_000 + b"0" + brackets[1:] * 200_000

    with pytest.raises(BadUpstreamAnswer):
        passed_on(text)
    with pytest.raises(BadUpstreamAnswer):
        decoded(opening * 65 + b"0" + brackets[1:] * 65)


def test_the_trace_of_deep_calls_is_passed_on() -> None:
    deep = b'{"calls":[' * 400 + b"]}" * 400

    assert passed_on(deep) == deep


@pytest.mark.parametrize("text", [b"", b"[1", b"[1]", b'{"result":"\xff"}', b'{"result":1}x'])
def test_an_invalid_response_is_refused(text: bytes) -> None:
    with pytest.raises(BadUpstreamAnswer):
        answers.read_answer(text)


def test_a_text_is_utf8_wherever_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_limits, "_CHARACTERS", 3)

    assert json_limits.is_utf8("é€😀a".encode() * 3)
    assert not json_limits.is_utf8("é€😀a".encode()[:-2])


@pytest.mark.parametrize(
    ("code", "message", "again"),
    [
        (429, "", True),
        (-32005, "daily request count exceeded", True),
        (-32000, "Rate limit reached", True),
        (-32000, "header not found", True),
        (-32603, "Max retries exceeded", True),
        (-32000, "execution reverted", False),
        (3, "execution reverted: rates", False),
        (-32601, "the method does not exist", False),
    ],
)
def test_errors_that_may_pass(code, message, again):
    assert answers.is_error_worth_it(code, message) is again


@pytest.mark.parametrize(
    ("status", "again"),
    [(200, False), (401, False), (404, False), (429, True), (500, True), (503, True)],
)
def test_statuses_that_may_pass(status, again):
    assert answers.is_status_worth_it(status) is again


@pytest.mark.parametrize(
    ("message", "forgotten"),
    [
        ("missing trie node 1234 (path ) state 0xab is not available", True),
        ("historical state 0xab is not available", True),
        ("Historical state not available in path scheme yet", True),
        ("execution reverted", False),
    ],
)
def test_state_that_only_an_archive_has(message, forgotten):
    assert answers.is_forgotten(message) is forgotten


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("3", 3.0),
        ("0", 0.0),
        ("600", 60.0),
        ("-1", 1.5),
        (None, 1.5),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 1.5),
    ],
)
def test_retry_after_wins_over_the_backoff(given, seconds):
    assert answers.seconds_until(given, 1.5) == seconds
