"""The table of contents, and arguments by place and by name."""

import msgspec
import pytest

from jsonrpc.dialects import GORILLA
from jsonrpc.dispatch import Dispatcher
from jsonrpc.errors import InvalidParam, JsonRpcError, RegistrationError
from jsonrpc.params import REQUIRED, Param, bind_named, bind_positional
from jsonrpc.registry import MethodDescription, MethodRegistry


def test_a_name_is_registered_once() -> None:
    registry = MethodRegistry()
    registry.add("a", lambda: 1)
    with pytest.raises(RegistrationError, match=r"^a is registered already$"):
        registry.add("a", lambda: 2)


def test_a_method_needs_a_handler() -> None:
    with pytest.raises(RegistrationError, match=r"^a has no handler$"):
        MethodRegistry().add("a")


def test_a_method_with_a_connection_cannot_be_vectorized() -> None:
    with pytest.raises(RegistrationError, match=r"^a needs a connection, so it cannot be"):
        MethodRegistry().add("a", vectorized=lambda calls: calls, connection=True)


def test_registries_are_put_together_and_names_stay_unique() -> None:
    first, second = MethodRegistry(), MethodRegistry()
    first.add("a", lambda: 1)
    second.add("b", lambda: 2)
    first.include(second)
    assert [method.name for method in first] == ["a", "b"]
    assert "b" in first
    assert len(first) == 2
    with pytest.raises(RegistrationError, match=r"^b is registered already$"):
        first.include(second)


def test_the_table_describes_itself() -> None:
    registry = MethodRegistry()

    def balance(address: str, block: str) -> None:
        """What an account has.

        More text.
        """

    params = (Param("address", str), Param("block", str, default=None))
    registry.add("balance", balance, params=params, hot=True)
    assert registry.describe() == (
        MethodDescription(
            name="balance",
            required=("address",),
            optional=("block",),
            hot=True,
            batched=False,
            connection=False,
            summary="What an account has.",
        ),
    )


def test_none_can_be_a_default() -> None:
    assert not Param("a", str, default=None).required
    assert Param("a", str).required
    assert repr(REQUIRED) == "REQUIRED"


def test_a_required_parameter_may_follow_an_optional_one() -> None:
    params = (Param("a", str, default="x"), Param("b", str))
    assert bind_positional(params, [None, "y"]) == ["x", "y"]
    with pytest.raises(JsonRpcError, match="missing value for required argument 1"):
        bind_positional(params, [])


def refuse(_value: object) -> None:
    raise InvalidParam("is never right")


def test_an_argument_is_named_by_its_place_or_its_name() -> None:
    params = (Param("first", str), Param("second", refuse))
    with pytest.raises(JsonRpcError, match="invalid argument 1: is never right"):
        bind_positional(params, ["a", "b"])
    with pytest.raises(JsonRpcError, match="argument 'second': is never right"):
        bind_named(params, {"first": "a", "second": "b"})


def test_names_ignore_letter_case_and_unknown_ones_are_ignored() -> None:
    params = (Param("nodeID", str), Param("limit", int, default=5))
    assert bind_named(params, {"NODEid": "x", "odd": 1, "limit": None}) == ["x", 5]
    with pytest.raises(JsonRpcError, match="argument 'nodeID' not given"):
        bind_named(params, {"nodeID": None})


@pytest.fixture
def gorilla(registry) -> Dispatcher:
    return Dispatcher(registry, GORILLA)


def ask(dispatcher: Dispatcher, method: str, params: object) -> dict:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = dispatcher.answer(msgspec.json.encode(request))
    assert answer is not None
    return msgspec.json.decode(answer)


@pytest.mark.parametrize("params", [{"Address": "0x7"}, [{"ADDRESS": "0x7", "block": None}]])
def test_gorilla_takes_an_object_or_an_array_with_one(gorilla: Dispatcher, params) -> None:
    assert ask(gorilla, "balance", params) == {"jsonrpc": "2.0", "result": "0x7", "id": 1}


@pytest.mark.parametrize("params", [None, [], {}, [{}], [None]])
def test_gorilla_needs_no_params_where_there_are_none(gorilla: Dispatcher, params) -> None:
    assert ask(gorilla, "number", params) == {"jsonrpc": "2.0", "result": "0x10", "id": 1}
    absent = gorilla.answer(b'{"jsonrpc":"2.0","id":1,"method":"number"}')
    assert absent == b'{"jsonrpc":"2.0","result":"0x10","id":1}'


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("platform.x", {}, 'rpc: can\'t find method "platform.x"'),
        ("balance", 5, "couldn't unmarshal an argument. params must be an object"),
        ("balance", [1, 2], "couldn't unmarshal an argument. params must be an object"),
        ("balance", {}, "argument 'address' not given"),
    ],
)
def test_gorillas_errors_have_one_code_and_null_data(gorilla, method, params, message) -> None:
    error = {"code": -32000, "message": message, "data": None}
    assert ask(gorilla, method, params) == {"jsonrpc": "2.0", "error": error, "id": 1}


def test_gorilla_refuses_a_number_that_no_machine_number_holds(gorilla: Dispatcher) -> None:
    text = b'{"jsonrpc":"2.0","id":1,"method":"balance","params":{"address":1e999}}'
    answer = msgspec.json.decode(gorilla.answer(text))
    assert answer["error"]["message"] == "couldn't unmarshal an argument. number out of range"


def test_gorilla_has_the_same_codes_for_what_is_no_request(gorilla: Dispatcher) -> None:
    assert b'"code":-32700' in (gorilla.answer(b"nonsense") or b"")
    assert b'"code":-32600' in (gorilla.answer(b'{"id":1,"method":"number"}') or b"")
