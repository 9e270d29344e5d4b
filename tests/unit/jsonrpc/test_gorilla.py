"""The table of pchain.md 8.1, row by row, through the raw endpoint and the Django view."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import RequestFactory

from jsonrpc.dispatch.dialects import GORILLA
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.gate import GateConfig
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.dispatch.workers import Workers
from jsonrpc.errors import InvalidParam, JsonRpcError
from jsonrpc.http.answering import Answering
from jsonrpc.http.asgi_rpc import AsgiRpc
from jsonrpc.http.replies import Endpoint, by_path, respond
from tests.unit.jsonrpc.test_endpoints import Answer, ask, elsewhere

EMPTY = {"jsonrpc": "", "method": "", "params": None, "id": None}
UNREADABLE = (
    "couldn't unmarshal an argument. Ensure arguments are valid and properly formatted. "
    "See documentation for example calls"
)
JSON = {"content-type": "application/json", "host": "localhost"}
Ask = Callable[..., Answer]


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidParam("no text")
    return value


@pytest.fixture
def ran() -> list[str]:
    """The names in executed calls of greet."""
    return []


@pytest.fixture
def endpoint(ran: list[str]) -> Endpoint:
    def greet(name: str) -> dict[str, str]:
        ran.append(name)
        return {"greeting": f"hello {name}"}

    def fail() -> None:
        raise JsonRpcError(-32000, "not found")

    def crash() -> None:
        raise ZeroDivisionError("an inside")

    registry = MethodRegistry()
    registry.add("platform.greet", greet, params=[Param("name", text, "nobody")])
    registry.add("platform.hotGreet", greet, params=[Param("name", text, "nobody")], hot=True)
    registry.add(
        "platform.greetAll",
        vectorized=lambda calls: [greet(name) for (name,) in calls],
        params=[Param("name", text, "nobody")],
    )
    registry.add("platform.fail", fail)
    registry.add("platform.crash", crash)
    config = GateConfig(max_body=1000, node_id="NodeID-1")
    return Endpoint(("/ext/P",), Dispatcher(registry, GORILLA), config)


@pytest.fixture(params=["raw", "django"])
def send(request: pytest.FixtureRequest, endpoint: Endpoint) -> Ask:
    """Return a function that sends a body to one of the endpoints; a dict becomes JSON."""

    def raw(body: bytes, method: str, headers: dict[str, str]) -> Answer:
        async def once() -> Answer:
            workers = Workers(threads=1)
            try:
                app = AsgiRpc(by_path([endpoint]), elsewhere, Answering(workers))
                return await ask(app, method, "/ext/P", headers, parts=(body,))
            finally:
                workers.close()

        return asyncio.run(once())

    def through_django(body: bytes, method: str, headers: dict[str, str]) -> Answer:
        meta = {f"HTTP_{key.upper().replace('-', '_')}": value for key, value in headers.items()}
        content_type = meta.pop("HTTP_CONTENT_TYPE", "")
        made = RequestFactory().generic(method, "/ext/P", body, content_type, **meta)
        made.META["CONTENT_TYPE"] = content_type
        response = respond(made, endpoint)
        answer = Answer()
        answer.status, answer.body = response.status_code, response.content
        answer.headers = {key.lower(): value for key, value in response.headers.items()}
        return answer

    chosen = raw if request.param == "raw" else through_django

    def knock(body: object, method: str = "POST", **headers: str) -> Answer:
        encoded = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return chosen(encoded, method, {**JSON, **named})

    return knock


def call(method: str = "platform.greet", **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, **members}


def error_of(answer: Answer) -> dict[str, Any]:
    """Return the error object after a check of the members around it."""
    assert answer.status == 200
    shown = json.loads(answer.body)
    assert list(shown) == ["jsonrpc", "error", "id"]
    assert list(shown["error"]) == ["code", "message", "data"]
    return {**shown["error"], "id": shown["id"]}


def test_a_success(send: Ask) -> None:
    answer = send(call(params={"NAME": "you"}))

    assert answer.body == b'{"jsonrpc":"2.0","result":{"greeting":"hello you"},"id":1}\n'
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["node-id"] == "NodeID-1"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_another_http_method(send: Ask, method: str) -> None:
    answer = send(b"", method)

    expected = f"rpc: POST method required, received {method}\n".encode()
    assert (answer.status, answer.body) == (405, expected)
    assert answer.headers["node-id"] == "NodeID-1"


@pytest.mark.parametrize(
    ("content_type", "shown"), [("text/plain; charset=utf-8", "text/plain"), ("", "")]
)
def test_another_content_type(send: Ask, content_type: str, shown: str) -> None:
    answer = send(call(), content_type=content_type)

    assert answer.status == 415
    assert answer.body == f"rpc: unrecognized Content-Type: {shown}\n".encode()


@pytest.mark.parametrize(
    "content_type", ["application/json;charset=UTF-8", "APPLICATION/json; charset=utf-8"]
)
def test_parameters_and_case_of_the_content_type_do_not_matter(
    send: Ask, content_type: str
) -> None:
    assert b'"result"' in send(call(), content_type=content_type).body


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "EOF"),
        (b" \n", "EOF"),
        (b'{"jsonrpc":"2.0"', "unexpected EOF"),
        (b"{jsonrpc:1}", "JSON is malformed: object keys must be strings (byte 1)"),
        (b"[]", "json: cannot unmarshal array into Go value of type json2.serverRequest"),
        (
            json.dumps([call(), call()]).encode(),
            "json: cannot unmarshal array into Go value of type json2.serverRequest",
        ),
        (b"5", "json: cannot unmarshal number into Go value of type json2.serverRequest"),
        (b'"x"', "json: cannot unmarshal string into Go value of type json2.serverRequest"),
        (b"true", "json: cannot unmarshal bool into Go value of type json2.serverRequest"),
        (b"\xff", "parse error: text is not UTF-8"),
        (b"[" * 65, "json: cannot unmarshal array into Go value of type json2.serverRequest"),
        (b'{"a":' + b"[" * 65, "parse error: nested deeper than 64"),
    ],
)
def test_body_without_request_object_is_a_parse_error(send: Ask, body: bytes, message: str) -> None:
    assert error_of(send(body)) == {"code": -32700, "message": message, "data": EMPTY, "id": None}


@pytest.mark.parametrize(
    ("body", "kind", "shown"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":5}', "number method", {"jsonrpc": "2.0", "id": 1}),
        (b'{"jsonrpc":"2.0","method":5}', "number method", {"jsonrpc": "2.0"}),
        (
            b'{"jsonrpc":["2.0"],"id":{"a":1},"method":"platform.greet","params":{"b":2}}',
            "array jsonrpc",
            {"id": {"a": 1}, "method": "platform.greet", "params": {"b": 2}},
        ),
        (b'{"method":{},"jsonrpc":2,"id":"x"}', "object method", {"id": "x"}),
        (b'{"METHOD":true,"jsonrpc":"2.0","id":3}', "bool method", {"jsonrpc": "2.0", "id": 3}),
    ],
)
def test_a_member_of_another_type_is_a_parse_error(
    send: Ask, ran: list[str], body: bytes, kind: str, shown: dict[str, Any]
) -> None:
    found, member = kind.split()
    words = (
        f"json: cannot unmarshal {found} into Go struct field serverRequest.{member} of type string"
    )
    expected = {"code": -32700, "message": words, "data": {**EMPTY, **shown}}
    assert error_of(send(body)) == {**expected, "id": shown.get("id")}
    assert ran == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"jsonrpc":null,"id":7,"method":"platform.greet","params":{"a":1}}', -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":null,"params":{"a":1}}', -32000),
    ],
)
def test_null_is_no_version_and_no_method(send: Ask, body: bytes, code: int) -> None:
    error = error_of(send(body))
    request = {**EMPTY, "id": 7, "method": "platform.greet", "params": {"a": 1}}
    assert (error["code"], error["id"]) == (code, 7)
    assert error["data"] == (request if code == -32600 else None)


@pytest.mark.parametrize("version", ["1.0", "", "2"])
def test_another_version(send: Ask, ran: list[str], version: str) -> None:
    answer = send({**call(params={"a": 1}), "jsonrpc": version})

    shown = {"jsonrpc": version, "method": "platform.greet", "params": {"a": 1}, "id": 1}
    expected = {"code": -32600, "message": "jsonrpc must be 2.0", "data": shown, "id": 1}
    assert error_of(answer) == expected
    assert ran == []


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("foo", 'rpc: service/method request ill-formed: "foo"'),
        ("", 'rpc: service/method request ill-formed: ""'),
        ("platform.greet.all", 'rpc: service/method request ill-formed: "platform.Greet.all"'),
        ("foo.bar", 'rpc: can\'t find service "foo.Bar"'),
        ("platform.fooBar", 'rpc: can\'t find method "platform.FooBar"'),
        ("platform.", 'rpc: can\'t find method "platform."'),
        ("platform.Greet", "method must start with a non-uppercase letter"),
        ("foo.Bar", "method must start with a non-uppercase letter"),
        ('a."b', 'rpc: can\'t find service "a.\\"b"'),
    ],
)
def test_a_method_that_there_is_not(send: Ask, method: str, message: str) -> None:
    expected = {"code": -32000, "message": message, "data": None, "id": 1}
    assert error_of(send(call(method))) == expected


@pytest.mark.parametrize(
    "params", [5, "x", True, {"name": 5}, [5], ["x", {}], [[{}]], {"name": {"a": 1}}]
)
@pytest.mark.parametrize("method", ["platform.greet", "platform.hotGreet", "platform.greetAll"])
def test_params_that_cannot_be_decoded(send: Ask, method: str, params: Any) -> None:
    expected = {"code": -32000, "message": UNREADABLE, "data": None, "id": 1}
    assert error_of(send(call(method, params=params))) == expected


@pytest.mark.parametrize("number", [b"1e999", b"1" * 500 + b"e9", b"1" * 5000])
def test_a_number_that_no_machine_number_holds(endpoint: Endpoint, number: bytes) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"platform.greet","params":{"other":%b}}' % number

    answer = json.loads(endpoint.dispatcher.answer(body) or b"")

    assert answer["error"]["message"] == UNREADABLE


@pytest.mark.parametrize("params", [None, {}, [], [None], [{}], [{"name": None}], {"other": 1}])
def test_everything_has_a_default(send: Ask, params: Any) -> None:
    assert json.loads(send(call(params=params)).body)["result"] == {"greeting": "hello nobody"}


@pytest.mark.parametrize("params", [{"Name": "x"}, [{"NAME": "x"}], [{"name": "x"}, 7]])
def test_params_are_an_object_or_a_list_with_one(send: Ask, params: Any) -> None:
    assert json.loads(send(call(params=params)).body)["result"] == {"greeting": "hello x"}


def test_an_error_of_a_method(send: Ask) -> None:
    expected = {"code": -32000, "message": "not found", "data": None, "id": 1}
    assert error_of(send(call("platform.fail"))) == expected


def test_a_crash_shows_nothing_of_its_insides(send: Ask, caplog: pytest.LogCaptureFixture) -> None:
    error = error_of(send(call("platform.crash")))

    assert error == {"code": -32603, "message": "method handler crashed", "data": None, "id": 1}
    assert len(caplog.records) == 1


@pytest.mark.parametrize("method", ["platform.greet", "platform.hotGreet", "platform.greetAll"])
@pytest.mark.parametrize("members", [{}, {"id": None}])
def test_without_an_id_the_method_runs_and_nothing_is_answered(
    send: Ask, ran: list[str], method: str, members: dict[str, Any]
) -> None:
    body = {"jsonrpc": "2.0", "method": method, "params": {"name": "quiet"}, **members}

    answer = send(body)

    assert (answer.status, answer.body, ran) == (200, b"", ["quiet"])


@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "2.0", "method": "platform.fooBar"},
        {"jsonrpc": "1.0", "method": "platform.greet"},
        {"jsonrpc": "2.0", "method": "platform.greet", "params": 5},
        {"jsonrpc": "2.0", "method": "platform.fail", "id": None},
        None,
    ],
)
def test_without_an_id_errors_are_not_answered_either(send: Ask, body: Any) -> None:
    answer = send(body)

    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize("identifier", [0, 7, 1.50, "x", "", True, {"a": [1]}, [2]])
def test_any_id_is_echoed(send: Ask, identifier: Any) -> None:
    for body in (call(id=identifier), call("nope", id=identifier), call(id=identifier, params=5)):
        assert json.loads(send(body).body)["id"] == identifier


@pytest.mark.parametrize("method", ["platform.greet", "platform.hotGreet", "platform.fooBar"])
def test_an_id_too_long_to_be_echoed_makes_an_invalid_request(
    endpoint: Endpoint, ran: list[str], method: str
) -> None:
    def ask(size: int) -> dict[str, Any]:
        body = json.dumps(call(method, id="<" * size)).encode()
        return json.loads(endpoint.dispatcher.answer(body) or b"")

    assert ask(16_382)["id"] == "<" * 16_382
    greeted = list(ran)
    expected = {"code": -32600, "message": "invalid request", "data": None}
    assert ask(16_383) == {"jsonrpc": "2.0", "error": expected, "id": None}
    assert ran == greeted


@pytest.mark.parametrize("member", ["jsonrpc", "method", "params"])
def test_long_request_is_not_quoted(endpoint: Endpoint, member: str) -> None:
    request = {**call(params={}), "jsonrpc": "1.0", member: "<" * 20_000}

    answer = json.loads(endpoint.dispatcher.answer(json.dumps(request).encode()) or b"")

    assert answer["error"]["data"] == {**EMPTY, "id": 1}


@pytest.mark.parametrize(
    "names",
    [
        ("jsonrpc", "method", "ID", "params"),
        ("jsonrpc", "Method", "id", "params"),
        ("JSONRPC", "method", "id", "params"),
        ("jsonrpc", "method", "id", "Params"),
        ("JsonRpc", "METHOD", "Id", "PARAMS"),
    ],
)
def test_members_are_named_in_any_case(send: Ask, names: tuple[str, ...]) -> None:
    values = ("2.0", "platform.greet", 7, {"name": "you"})

    answer = send(json.dumps(dict(zip(names, values, strict=True))).encode() + b" x")

    assert answer.body == b'{"jsonrpc":"2.0","result":{"greeting":"hello you"},"id":7}\n'


def test_lower_case_member_takes_precedence(send: Ask) -> None:
    answer = send({"ID": 1, **call(id=2), "Id": 3, "Params": {"name": "you"}})

    assert answer.body == b'{"jsonrpc":"2.0","result":{"greeting":"hello you"},"id":2}\n'


def test_only_exact_names_are_read_among_many_members(send: Ask) -> None:
    many = {f"m{place}": 0 for place in range(70)}

    assert send({**many, **call()}).body == send(call()).body
    assert send({**many, "ID": 7, **{k: v for k, v in call().items() if k != "id"}}).body == b""


def test_a_member_of_another_type_is_found_in_any_case(send: Ask) -> None:
    expected = (
        "json: cannot unmarshal number into Go struct field serverRequest.method of type string"
    )
    assert error_of(send({"jsonrpc": "2.0", "id": 1, "Method": 5}))["message"] == expected


def test_an_id_is_echoed_digit_for_digit(send: Ask) -> None:
    answer = send(b'{"jsonrpc":"2.0","method":"platform.greet","id":1.50e0}')
    assert answer.body.endswith(b'"id":1.50e0}\n')


def test_only_the_first_value_of_a_body_is_read(send: Ask) -> None:
    for rest in (b" x", b"{", b'{"jsonrpc":"1.0"}', b"]"):
        answer = send(json.dumps(call()).encode() + rest)
        assert json.loads(answer.body)["result"] == {"greeting": "hello nobody"}


def test_signs_of_html_are_escaped(send: Ask) -> None:
    answer = send(call(params={"name": "<b>&</b>"}, id="<"))

    assert rb"hello \u003cb\u003e\u0026\u003c/b\u003e" in answer.body
    assert json.loads(answer.body)["result"] == {"greeting": "hello <b>&</b>"}
    assert json.loads(answer.body)["id"] == "<"


def test_a_host_must_be_allowed(send: Ask) -> None:
    answer = send(call(), host="evil.example")
    assert (answer.status, answer.body) == (403, b"invalid host specified\n")


def test_browsers_may_call_from_anywhere(send: Ask) -> None:
    answer = send(call(), origin="https://wallet.example")

    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-allow-credentials"] == "true"
