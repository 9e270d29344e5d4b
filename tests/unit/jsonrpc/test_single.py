"""A single call: every rule of the wire format of geth's server."""

import logging
import sys

import msgspec
import pytest

from jsonrpc.dispatch.dispatcher import Body, Dispatcher
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.errors import NO_DATA, JsonRpcError

PARSE_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}'
INVALID = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}'
NUMBER = b'{"jsonrpc":"2.0","id":1,"result":"0x10"}'


def body(**members: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, **members})


def error_of(answer: bytes | None) -> tuple[int, str]:
    assert answer is not None
    error = msgspec.json.decode(answer)["error"]
    return error["code"], error["message"]


@pytest.mark.parametrize(
    "text",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"number"}',
        b'{"jsonrpc":"2.0","id":1,"method":"number","params":null}',
        b'{"jsonrpc":"2.0","id":1,"method":"number","params":[]}',
        b'{"jsonrpc":"2.0","id":1,"method":"number","params":[ ]}',
        b' \t\r\n{"id":1, "jsonrpc":"2.0","more":{"a":[1]},"method":"number"} ',
    ],
)
def test_absent_null_and_empty_params_are_equal(dispatcher: Dispatcher, text: bytes) -> None:
    assert dispatcher.answer(text) == NUMBER
    assert dispatcher.answer_hot(text) == NUMBER


def test_params_as_an_object_are_refused(dispatcher: Dispatcher) -> None:
    for params in ({}, {"address": "0x1"}, 5, "x", True):
        answer = dispatcher.answer(body(method="balance", params=params))
        assert error_of(answer) == (-32602, "non-array args")


@pytest.mark.parametrize(
    "identifier",
    [
        b"1",
        b"0",
        b"-1",
        b"1.50",
        b"9007199254740993",
        b"18446744073709551615",
        b"123456789012345678901234567890123456789012345678901234567890",
        b"1e400",
        b'""',
        b'"a\\u0062\\n"',
        '"é"'.encode(),
        b"null",
        b"true",
    ],
)
def test_an_id_is_echoed_as_it_was_written(dispatcher: Dispatcher, identifier: bytes) -> None:
    answer = dispatcher.answer(b'{"jsonrpc":"2.0","method":"number","id":%b}' % identifier)
    assert answer == b'{"jsonrpc":"2.0","id":%b,"result":"0x10"}' % identifier


@pytest.mark.parametrize("identifier", [b"{}", b"[]", b'{"a":1}', b"[1]"])
def test_an_id_that_is_a_container_makes_the_request_invalid(
    dispatcher: Dispatcher, identifier: bytes
) -> None:
    text = b'{"jsonrpc":"2.0","method":"%b","id":%b}'
    assert dispatcher.answer(text % (b"number", identifier)) == INVALID
    assert dispatcher.answer_hot(text % (b"number", identifier)) == INVALID
    assert dispatcher.answer(text % (b"unknown", identifier)) == INVALID


def test_a_notification_is_executed_and_not_answered(dispatcher: Dispatcher, calls) -> None:
    assert dispatcher.answer(b'{"jsonrpc":"2.0","method":"number"}') is None
    assert dispatcher.answer_hot(b'{"jsonrpc":"2.0","method":"number"}') is None
    assert calls.seen == [("number",), ("number",)]


@pytest.mark.parametrize("method", [b"unknown", b"crash", b"balance", b"m" * 3000])
def test_a_notification_that_fails_is_not_answered(dispatcher: Dispatcher, method: bytes) -> None:
    assert dispatcher.answer(b'{"jsonrpc":"2.0","method":"%b"}' % method) is None


@pytest.mark.parametrize(
    "text",
    [
        b'{"id":7,"method":"number"}',
        b'{"jsonrpc":"1.0","id":7,"method":"number"}',
        b'{"jsonrpc":2.0,"id":7,"method":"number"}',
        b'{"jsonrpc":"2.0","id":7}',
        b'{"jsonrpc":"2.0","id":7,"method":""}',
        b'{"jsonrpc":"2.0","id":7,"method":5}',
        b'{"jsonrpc":"2.0","id":7,"method":null}',
        b'{"jsonrpc":"2.0","id":7,"result":"0x1"}',
    ],
)
def test_a_request_without_version_or_method_is_invalid_and_keeps_its_id(
    dispatcher: Dispatcher, text: bytes
) -> None:
    assert dispatcher.answer(text) == INVALID.replace(b"null", b"7")
    assert dispatcher.answer(text.replace(b'"id":7', b'"x":7')) == INVALID


@pytest.mark.parametrize("text", [b"5", b'"x"', b"null", b"true", b"{}", b"1.5e3"])
def test_json_without_request_is_invalid(dispatcher: Dispatcher, text: bytes) -> None:
    assert dispatcher.answer(text) == INVALID
    assert dispatcher.answer_hot(text) == INVALID


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b"}",
        b"[",
        b"[1,]",
        b"hello",
        b'{"jsonrpc":"2.0","id":1,"method":"number"',
        b'{"jsonrpc":"2.0","id":1,"method":"number"}x',
        b'{"method":5, nonsense',
        b"5x",
        b"[5x]",
        b'{"id":01}',
        b'{"id":tru}',
        b'{"a":"\x00"}',
        b"\x00",
        b"\xef\xbb\xbf{}",
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"number"}',
        b'{"jsonrpc":"2.0","id":1,"method":"\\udfff"}',
    ],
)
def test_malformed_json_is_a_parse_error(dispatcher: Dispatcher, text: bytes) -> None:
    assert dispatcher.answer(text) == PARSE_ERROR
    assert dispatcher.answer_hot(text) == PARSE_ERROR


@pytest.mark.parametrize(
    "text", [b'{"id":"\xff"}', b"\xff\xfe", b'{"x":"\xed\xa0\x80"}', b'[{"method":"\xc3("}]']
)
def test_text_that_is_not_utf_8_has_its_own_message(dispatcher: Dispatcher, text: bytes) -> None:
    assert error_of(dispatcher.answer(text)) == (-32700, "parse error: text is not UTF-8")


def nested(levels: int, opening: bytes = b"[", closing: bytes = b"]") -> bytes:
    return opening * levels + closing * levels


@pytest.mark.parametrize(
    "text",
    [
        nested(65),
        nested(100_000),
        b'[{"x":%b}]' % nested(4_000),
        b"[%b]" % b",".join([nested(70)] * 3),
        b"[" * 100_000,
        b'{"a":' * 100_000,
        nested(70, b'{"a":[', b"]}"),
        b'{"jsonrpc":"2.0","id":1,"method":"echo","params":%b}' % nested(64),
        b'{"jsonrpc":"2.0","id":1,"method":"number","ignored":%b}' % nested(64),
        b'[{"jsonrpc":"2.0","id":1,"method":"echo","params":%b}]' % nested(63),
        b'[1,{"jsonrpc":"2.0","id":1,"method":"echo","params":%b}]' % nested(63),
        b'[{"a":"]]]]"},{"a":"%b","b":%b}]' % (b"]" * 200, nested(70)),
    ],
)
def test_json_nested_deeper_than_64_has_its_own_message(
    dispatcher: Dispatcher, text: bytes
) -> None:
    assert error_of(dispatcher.answer(text)) == (-32700, "parse error: nested deeper than 64")


def test_nesting_of_64_levels_is_accepted(dispatcher: Dispatcher) -> None:
    deep = b'{"jsonrpc":"2.0","id":1,"method":"echo","params":%b}' % nested(63)
    assert dispatcher.answer(deep) == b'{"jsonrpc":"2.0","id":1,"result":%b}' % nested(62)
    text = body(method="echo", params=['\\"[{' * 200])
    assert msgspec.json.decode(dispatcher.answer(text))["result"] == '\\"[{' * 200


def test_a_raised_recursion_limit_does_not_end_the_process(dispatcher: Dispatcher) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000_000)
    try:
        for text in (nested(400_000), b'[{"x":%b}]' % nested(400_000)):
            answer = dispatcher.answer(text)
            assert error_of(answer) == (-32700, "parse error: nested deeper than 64")
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("number", [b"1e400", b"-1e999", b"1" * 5000])
def test_a_number_that_no_machine_number_holds_names_its_argument(
    dispatcher: Dispatcher, number: bytes
) -> None:
    text = b'{"jsonrpc":"2.0","id":1,"method":"balance","params":["0x1",%b]}' % number
    expected = (-32602, "invalid argument 1: number out of range")
    assert error_of(dispatcher.answer(text)) == expected


def test_a_number_without_an_array_is_refused_like_any_value(dispatcher: Dispatcher) -> None:
    text = b'{"jsonrpc":"2.0","id":1,"method":"balance","params":1e999}'
    assert error_of(dispatcher.answer(text)) == (-32602, "non-array args")


def test_last_of_duplicate_members_counts(dispatcher: Dispatcher) -> None:
    text = b'{"jsonrpc":"2.0","id":2,"id":1,"method":"crash","method":"number"}'
    assert dispatcher.answer(text) == NUMBER


def test_a_method_name_longer_than_2048_is_invalid(dispatcher: Dispatcher) -> None:
    assert error_of(dispatcher.answer(body(method="m" * 2048)))[0] == -32601
    expected = (-32600, "method name too long: 2049>2048")
    assert error_of(dispatcher.answer(body(method="m" * 2049))) == expected


def test_unknown_method_has_geths_message(dispatcher: Dispatcher) -> None:
    expected = (-32601, "the method eth_foo does not exist/is not available")
    assert error_of(dispatcher.answer(body(method="eth_foo"))) == expected


def test_unavailable_method_has_its_reason(
    registry: MethodRegistry, dispatcher: Dispatcher
) -> None:
    registry.add_unavailable(["eth_bar"], "it needs more settings")
    words = "the method eth_bar does not exist/is not available: it needs more settings"
    assert error_of(dispatcher.answer(body(method="eth_bar"))) == (-32601, words)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ([], "missing value for required argument 0"),
        ([None], "missing value for required argument 0"),
        (["0x1", "latest", 1], "too many arguments, want at most 2"),
        (["1"], "invalid argument 0: hex string without 0x prefix"),
        ([5, 6, 7], "invalid argument 0: hex string without 0x prefix"),
    ],
)
def test_bad_params_have_geths_messages(dispatcher: Dispatcher, params, message: str) -> None:
    answer = dispatcher.answer(body(method="balance", params=params))
    assert error_of(answer) == (-32602, message)


@pytest.mark.parametrize("params", [["0x1"], ["0x1", None]])
def test_default_replaces_a_missing_or_null_argument(dispatcher: Dispatcher, calls, params) -> None:
    dispatcher.answer(body(method="balance", params=params))
    assert calls.seen == [("balance", 1, "latest")]


def test_an_error_carries_its_code_and_data(dispatcher: Dispatcher) -> None:
    answer = dispatcher.answer(body(method="fail", params=[3]))
    error = b'{"code":3,"message":"execution reverted","data":"0x"}'
    assert answer == b'{"jsonrpc":"2.0","id":1,"error":%b}' % error


def test_an_error_of_the_domain_gets_the_code_of_its_registry(dispatcher: Dispatcher) -> None:
    answer = dispatcher.answer(body(method="send", params=["0x0"]))
    assert error_of(answer) == (-32000, "nonce too low")


def test_single_call_of_a_vectorized_method_is_a_batch_of_one(dispatcher, calls) -> None:
    answer = dispatcher.answer(body(method="send", params=["0x5"]))
    assert answer == b'{"jsonrpc":"2.0","id":1,"result":"0x5"}'
    assert calls.seen == [("send", 5)]


def test_a_crash_is_logged_once_and_shows_no_insides(dispatcher: Dispatcher, caplog) -> None:
    with caplog.at_level(logging.ERROR, logger="jsonrpc"):
        answer = dispatcher.answer(body(method="crash"))
    assert error_of(answer) == (-32603, "method handler crashed")
    (record,) = caplog.records
    assert record.name == "jsonrpc"
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError


class Panic(BaseException):
    """The exception of a native extension that panics."""


@pytest.mark.parametrize("result", [object(), "\ud800", {1j: 2}])
def test_unencodable_result_is_an_internal_error(registry, result: object, caplog) -> None:
    registry.add("odd", lambda: result)
    assert error_of(Dispatcher(registry).answer(body(method="odd")))[0] == -32603
    assert len(caplog.records) == 1


def test_a_registry_without_an_error_table_calls_everything_a_crash(caplog) -> None:
    registry = MethodRegistry()
    registry.add("crash", lambda: 1 // 0)
    assert error_of(Dispatcher(registry).answer(body(method="crash")))[0] == -32603


def test_a_panic_is_a_crash_and_an_interrupt_is_not_swallowed(registry, caplog) -> None:
    def panic() -> None:
        raise Panic

    def interrupt() -> None:
        raise KeyboardInterrupt

    registry.add("panic", panic)
    registry.add("interrupt", interrupt)
    dispatcher = Dispatcher(registry)
    assert error_of(dispatcher.answer(body(method="panic")))[0] == -32603
    with pytest.raises(KeyboardInterrupt):
        dispatcher.answer(body(method="interrupt"))


def test_error_with_unencodable_data_is_an_internal_error(registry, caplog) -> None:
    def fail() -> None:
        raise JsonRpcError(-32000, "odd", object())

    registry.add("odd", fail)
    answer = Dispatcher(registry).answer(body(method="odd"))
    assert error_of(answer) == (-32603, "method handler crashed")


def test_no_data_is_not_null() -> None:
    assert JsonRpcError(-32000, "odd").data is NO_DATA
    assert repr(NO_DATA) == "NO_DATA"


def test_null_is_a_result(dispatcher: Dispatcher) -> None:
    assert dispatcher.answer(body(method="null")) == b'{"jsonrpc":"2.0","id":1,"result":null}'


def test_a_raw_result_is_spliced_in(dispatcher: Dispatcher) -> None:
    answer = dispatcher.answer(body(method="raw"))
    assert answer == b'{"jsonrpc":"2.0","id":1,"result":{"ready" : 1}}'


def test_a_subscription_without_a_connection_is_not_supported(dispatcher: Dispatcher) -> None:
    answer = dispatcher.answer(body(method="subscribe", params=["newHeads"]))
    assert error_of(answer) == (-32601, "notifications not supported")


def test_a_call_past_the_time_limit_timed_out(dispatcher: Dispatcher) -> None:
    assert b"0x1" in (dispatcher.answer(body(method="wait", params=[30])) or b"")
    answer = dispatcher.answer(body(method="wait", params=[31]))
    assert error_of(answer) == (-32002, "request timed out")


def test_a_method_without_a_time_limit_is_answered_whenever_it_is_done(
    dispatcher: Dispatcher, registry: MethodRegistry
) -> None:
    wait = registry.methods["wait"]
    registry.add("mine", wait.handler, params=wait.params, untimed=True)
    assert b'"0x1"' in (dispatcher.answer(body(method="mine", params=[3600])) or b"")
    batch = b"[%b,%b]" % (body(method="mine", params=[3600]), body(method="wait", params=[31]))
    assert (dispatcher.answer(batch) or b"").count(b'"0x1"') == 2

    request = Body(body(method="mine", params=[1]))
    assert not dispatcher.is_untimed(request)  # it has not been parsed yet
    dispatcher.answer(request)
    assert dispatcher.is_untimed(request)
    other = Body(body(method="wait", params=[1]))
    dispatcher.answer(other)
    assert not dispatcher.is_untimed(other)
    broken = Body(b"{")
    dispatcher.answer(broken)
    assert not dispatcher.is_untimed(broken)


def test_a_server_that_is_away_is_named_and_logged_as_a_warning(
    registry: MethodRegistry, caplog
) -> None:
    away = "Redis at cache:6379 does not answer: connection refused"
    dispatcher = Dispatcher(registry, outage=lambda _error: away)

    assert error_of(dispatcher.answer(body(method="crash"))) == (-32000, away)
    assert error_of(dispatcher.answer(body(method="send", params=["0x0"])))[0] == -32000
    (record,) = caplog.records
    assert (record.levelname, record.getMessage()) == ("WARNING", "method crash failed")
