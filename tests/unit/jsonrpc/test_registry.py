"""The table of methods, and arguments by position and by name."""

import pytest

from jsonrpc.dispatch.params import REQUIRED, Param, bind_named, bind_positional
from jsonrpc.dispatch.registry import MethodDescription, MethodRegistry
from jsonrpc.errors import InvalidParam, JsonRpcError, RegistrationError


def test_a_name_is_registered_once() -> None:
    registry = MethodRegistry()
    registry.add("a", lambda: 1)
    with pytest.raises(RegistrationError, match=r"^a is registered already$"):
        registry.add("a", lambda: 2)


def test_a_method_needs_a_handler() -> None:
    with pytest.raises(RegistrationError, match=r"^a has no handler$"):
        MethodRegistry().add("a")


@pytest.mark.parametrize("wanted", ["connection", "client"])
def test_a_method_with_a_connection_cannot_be_vectorized(wanted: str) -> None:
    with pytest.raises(RegistrationError, match=r"^a needs a connection, so it cannot be"):
        MethodRegistry().add("a", vectorized=lambda calls: calls, **{wanted: True})  # type: ignore[arg-type]


def test_a_method_gets_a_client_or_a_connection() -> None:
    with pytest.raises(RegistrationError, match=r"^a finds the client in its connection$"):
        MethodRegistry().add("a", print, connection=True, client=True)


@pytest.mark.parametrize("fast", [{"hot": True}, {"vectorized": lambda calls: calls}])
def test_a_method_with_a_guard_has_no_fast_path(fast) -> None:
    with pytest.raises(RegistrationError, match=r"^a has a guard, so it can be neither hot nor"):
        MethodRegistry().add("a", print, guard=print, **fast)


def test_gathering_requires_a_vectorized_method() -> None:
    with pytest.raises(RegistrationError, match=r"^a cannot answer calls together$"):
        MethodRegistry().add("a", lambda: 1, gathers=lambda _: True)


def test_included_registries_have_unique_names() -> None:
    first, second = MethodRegistry(), MethodRegistry()
    first.add("a", lambda: 1)
    second.add("b", lambda: 2)
    first.include(second)
    assert [method.name for method in first] == ["a", "b"]
    assert "b" in first
    assert len(first) == 2
    with pytest.raises(RegistrationError, match=r"^b is registered already$"):
        first.include(second)


def test_reasons_for_missing_methods_are_kept_by_name() -> None:
    registry = MethodRegistry()
    registry.add("a", lambda: 1)

    registry.add_unavailable(["a", "b"], "needs a licence")

    assert dict(registry.unavailable) == {"b": "needs a licence"}
    assert "b" not in registry


def test_registry_lists_methods_and_parameters() -> None:
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


def test_none_is_a_valid_default() -> None:
    assert not Param("a", str, default=None).required
    assert Param("a", str).required
    assert repr(REQUIRED) == "REQUIRED"


def test_required_parameter_can_follow_an_optional_one() -> None:
    params = (Param("a", str, default="x"), Param("b", str))
    assert bind_positional(params, [None, "y"]) == ["x", "y"]
    with pytest.raises(JsonRpcError, match="missing value for required argument 1"):
        bind_positional(params, [])


def refuse(_value: object) -> None:
    raise InvalidParam("is never right")


def test_an_argument_is_named_by_its_place() -> None:
    params = (Param("first", str), Param("second", refuse))
    with pytest.raises(JsonRpcError, match="invalid argument 1: is never right"):
        bind_positional(params, ["a", "b"])


def test_malformed_named_argument_gets_a_one_sentence_error() -> None:
    with pytest.raises(JsonRpcError) as refused:
        bind_named((Param("second", refuse),), {"first": "a", "second": "b"})
    assert (refused.value.code, refused.value.message) == (
        -32000,
        "couldn't unmarshal an argument. Ensure arguments are valid and properly formatted. "
        "See documentation for example calls",
    )


def test_named_params_ignore_case_and_unknown_names() -> None:
    params = (Param("nodeID", str), Param("limit", int, default=5))
    assert bind_named(params, {"NODEid": "x", "odd": 1, "limit": None}) == ["x", 5]
    with pytest.raises(JsonRpcError, match="argument 'nodeID' not given"):
        bind_named(params, {"nodeID": None})
