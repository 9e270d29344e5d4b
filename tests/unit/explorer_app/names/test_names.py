"""Names of functions, events and errors: declarations are parsed and used to decode bytes."""

import eth_abi
import pytest
from eth_utils import function_signature_to_4byte_selector, keccak
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.transaction_log.declarations import Declaration, listed
from cchain_app.transaction_log.errors import MalformedDeclaration, Undecodable
from explorer_app.names.book import Abi, NameBook
from explorer_app.names.decoding import arguments_of, count, decode_event, first

BOOK = NameBook.load()
TRANSFER = Declaration.parse("transfer(address to, uint256 value)")
SPENDER = "0x" + "ab" * 20


def called(signature: str, *values: object) -> bytes:
    types = signature.partition("(")[2][:-1]
    data = eth_abi.encode(types.split(","), values) if types else b""
    return function_signature_to_4byte_selector(signature) + data


def test_declaration_has_names_types_and_signature() -> None:
    function = Declaration.parse(
        "fulfil((address token, uint256[2] amounts)[] orders, bytes32 indexed id, bool)"
    )
    assert function.signature == "fulfil((address,uint256[2])[],bytes32,bool)"
    assert function.topic == keccak(text=function.signature)
    assert function.selector == function.topic[:4]
    orders, ident, last = function.parameters
    assert [(member.type, member.name) for member in orders.members] == [
        ("address", "token"),
        ("uint256[2]", "amounts"),
    ]
    assert (ident.indexed, ident.name, last.name) == (True, "id", "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "transfer",
        "transfer(",
        "transfer)",
        "1a()",
        "f(address,)",
        "f((address)",
        "f(uint256 a b)",
    ],
)
def test_an_invalid_declaration_is_refused(text: str) -> None:
    with pytest.raises(MalformedDeclaration):
        Declaration.parse(text)


@pytest.mark.parametrize("kind", ["functions", "events", "errors"])
def test_the_lists_are_parsed_and_have_no_duplicates(kind: str) -> None:
    found = listed(kind)
    keys = [
        (declaration.signature, tuple(part.indexed for part in declaration.parameters))
        for declaration in found
    ]
    assert len(found) > 50
    assert len(keys) == len(set(keys))


def test_a_call_is_named_by_its_selector_and_its_arguments_are_read() -> None:
    found = BOOK.call(called("transfer(address,uint256)", SPENDER, 7))
    assert found is not None
    assert (found.name, found.is_guess) == ("transfer", True)
    to, value = found.arguments
    assert (to.name, str(to.value).lower(), to.is_address) == ("to", SPENDER, True)
    assert value.value == "7"


def test_the_contracts_own_abi_takes_precedence_and_is_not_marked_as_guess() -> None:
    own = Declaration.parse("transfer(address recipient, uint256 wad)")
    found = BOOK.call(called("transfer(address,uint256)", SPENDER, 7), Abi(functions=(own,)))
    assert found is not None
    assert [argument.name for argument in found.arguments] == ["recipient", "wad"]
    assert not found.is_guess


def test_a_guess_is_made_only_where_the_data_is_encoded_just_so() -> None:
    data = called("transfer(address,uint256)", SPENDER, 7)
    assert BOOK.call(data + b"\1") is None
    assert BOOK.call(data[:-1]) is None
    own = Abi(functions=(TRANSFER,))
    assert BOOK.call(data + b"\1", own) is not None
    assert BOOK.call(b"\1\2\3\4" + data[4:]) is None


def test_a_method_is_its_name_else_its_selector_else_nothing() -> None:
    assert BOOK.method(called("transfer(address,uint256)", SPENDER, 7)) == "transfer"
    assert BOOK.method(b"\1\2\3\4\5") == "0x01020304"
    assert BOOK.method(b"\1\2\3") == ""


def test_event_with_another_number_of_indexed_parameters_does_not_match() -> None:
    topic = keccak(text="Transfer(address,address,uint256)")
    who = bytes(12) + b"\xab" * 20
    erc20 = BOOK.event([topic, who, who], (7).to_bytes(32))
    erc721 = BOOK.event([topic, who, who, (7).to_bytes(32)], b"")
    assert erc20 is not None
    assert erc721 is not None
    assert [argument.value for argument in erc20.arguments][2] == "7"
    assert erc20.arguments[2].name == "value"
    assert erc721.arguments[2].name == "tokenId"
    assert BOOK.event([topic], (7).to_bytes(32)) is None
    assert BOOK.event([], b"") is None


def test_an_indexed_text_is_there_as_its_hash() -> None:
    declaration = Declaration.parse("Named(string indexed name, uint256 at)")
    topics = [declaration.topic, keccak(text="somebody")]
    found = decode_event(declaration, topics, (3).to_bytes(32), guess=False)
    assert found is not None
    name, at = found.arguments
    assert (name.is_hash, name.value) == (True, "0x" + keccak(text="somebody").hex())
    assert at.value == "3"


def test_tuples_and_arrays_are_read_with_the_names_of_their_members() -> None:
    declaration = Declaration.parse("aggregate((address target, bytes callData)[] calls)")
    data = eth_abi.encode(["(address,bytes)[]"], [[(SPENDER, b"\1"), (SPENDER, b"")]])
    (calls,) = arguments_of(declaration.parameters, data)
    assert [part.name for part in calls.parts] == ["0", "1"]
    assert [(argument.name, argument.value) for argument in calls.parts[0].parts][1] == (
        "callData",
        "0x01",
    )
    assert not calls.is_empty
    (none,) = arguments_of(declaration.parameters, eth_abi.encode(["(address,bytes)[]"], [[]]))
    assert none.is_empty


def test_first_of_many_parts_are_shown_and_none_is_empty() -> None:
    (rows,) = arguments_of(
        Declaration.parse("f(uint8[][])").parameters, eth_abi.encode(["uint8[][]"], [[[1, 2], [], [3]]])
    )  # fmt: skip
    sizes = [count(first([rows], maximum)) for maximum in range(9)]

    assert count([rows]) == 7
    assert sizes == [0, 0, 0, 3, 4, 5, 5, 7, 7]
    assert first([rows], 7) == (rows,)
    assert [part.is_empty for part in first([rows], 5)[0].parts] == [False, True]


def test_text_with_invalid_utf_8_is_decoded() -> None:
    (text,) = arguments_of(
        Declaration.parse("say(string)").parameters, eth_abi.encode(["bytes"], [b"a\xff"])
    )
    assert text.value == "a\ufffd"


def test_arguments_that_are_too_long_are_not_decoded() -> None:
    parameters = Declaration.parse("say(bytes)").parameters
    with pytest.raises(Undecodable):
        arguments_of(parameters, eth_abi.encode(["bytes"], [bytes(200_000)]))


@given(st.binary(max_size=400), st.sampled_from([*listed("functions"), *listed("errors")]))
def test_any_input_has_a_name_or_none(data: bytes, declaration: Declaration) -> None:
    found = BOOK.call(declaration.selector + data)
    assert found is None or found.is_guess
    BOOK.event([declaration.topic, data[:32].ljust(32, b"\0")], data)
