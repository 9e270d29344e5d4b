"""Texts of a form are encoded as arguments for a compiler's ABI, or rejected with a message."""

import json

import eth_abi
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.transaction_log.declarations import Declaration, Parameter
from explorer_app.names.encoding import (
    MAX_TEXT,
    MAX_VALUES,
    BadFields,
    BadText,
    encode_call,
    encode_key,
    example,
    read_coins,
    read_value,
)

ADDRESS = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
ORDER = Declaration.parse("f((address token, uint256[2] amounts)[] orders)").parameters[0]
NUMBERS = {"uint8": (0, 2**8 - 1), "int40": (-(2**39), 2**39 - 1), "uint256": (0, 2**256 - 1)}


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("uint8", "255", 255),
        ("uint256", " 0xff ", 255),
        ("int8", "-128", -128),
        ("uint256", str(2**256 - 1), 2**256 - 1),
        ("address", ADDRESS, ADDRESS.lower()),
        ("address", ADDRESS.lower(), ADDRESS.lower()),
        ("bool", "TRUE", True),
        ("bool", "false", False),
        ("bytes4", "0x0aBc1234", bytes.fromhex("0abc1234")),
        ("bytes", "", b""),
        ("bytes", "0x00", b"\0"),
        ("string", " as it is\n", " as it is\n"),
        ("function", "0x" + "11" * 24, b"\x11" * 24),
        ("uint256[]", '[1, "2", "0x3"]', [1, 2, 3]),
        ("uint256[2][]", "[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
        ("uint256[]", f"[{2**255}]", [2**255]),
        ("bool[]", '[true, "false"]', [True, False]),
        ("string[]", '["[[", "a"]', ["[[", "a"]),
    ],
)
def test_a_text_is_a_value_of_its_type(type_: str, text: str, value: object) -> None:
    assert read_value(Parameter(type_, ""), text) == value


@pytest.mark.parametrize(
    ("type_", "text", "words"),
    [
        ("uint8", "256", "must be a whole number from 0 to 255"),
        ("uint8", "-1", "must be a whole number from 0 to 255"),
        ("int8", "128", "must be a whole number from -128 to 127"),
        ("uint256", "1e18", "must be a whole number of 256 bits"),
        ("uint256", "1.0", "must be a whole number of 256 bits"),
        ("uint256", "", "must be a whole number of 256 bits"),
        ("uint256", "٣", "must be a whole number of 256 bits"),
        ("uint256", "1_000", "must be a whole number of 256 bits"),
        ("uint256", "9" * 5000, "must be a whole number of 256 bits"),
        ("address", ADDRESS[:-1], "must be an address: 0x and 40 digits"),
        ("address", ADDRESS[:-1] + "e", "has a wrong checksum: check its digits"),
        ("bool", "1", "must be true or false"),
        ("bytes4", "0x0102", "must be 0x and 8 digits"),
        ("bytes", "0x1", "must be 0x and an even number of digits"),
        ("bytes", "12", "must be 0x and an even number of digits"),
        ("string", "\ud800", "has incomplete characters"),
        ("fixed128x18", "1", "has a type that cannot be entered here: fixed128x18"),
        ("uint256[]", "1", "must be a list for uint256[]"),
        ("uint256[]", "[1", "must be JSON for uint256[], such as [1, …]"),
        ("uint256[]", "[null]", "[0] must be a value for uint256"),
        ("uint256[]", "[1, true]", "[1] must be a value for uint256"),
        ("uint256[]", "[1.5]", "[0] must be a whole number of 256 bits"),
        ("uint256[]", "[NaN]", "[0] must be a whole number of 256 bits"),
        ("uint8[2]", "[1]", "must have 2 elements for uint8[2], not 1"),
        ("uint8[99999999999999999999999]", "[1]", "must have 99999999999999999999999 elements"),
        ("uint8[][]", "[[1], [2, 300]]", "[1][1] must be a whole number from 0 to 255"),
        ("uint8[]", "[" * 40, "is nested deeper than 32"),
        ("uint8[]", "[" * 100_000, "is nested deeper than 32"),
    ],
)
def test_an_invalid_value_is_refused_with_a_reason(type_: str, text: str, words: str) -> None:
    with pytest.raises(BadText) as refusal:
        read_value(Parameter(type_, ""), text)

    assert str(refusal.value).startswith(words)


def test_a_tuple_is_a_list_or_an_object() -> None:
    expected = [(ADDRESS.lower(), [1, 2])]

    assert read_value(ORDER, json.dumps([[ADDRESS, [1, 2]]])) == expected
    assert read_value(ORDER, json.dumps([{"amounts": [1, 2], "token": ADDRESS}])) == expected
    for text, words in (
        ('[["0x1", [1, 2]]]', "[0].token must be an address"),
        ('[{"token": "0x1"}]', "[0] must be an object with token, amounts"),
        ('[["0x1"]]', "[0] must be a list of 2 for (address,uint256[2])"),
        ("[7]", "[0] must be a list of 2 for (address,uint256[2])"),
    ):
        with pytest.raises(BadText) as refusal:
            read_value(ORDER, text)
        assert str(refusal.value).startswith(words)


def test_an_example_is_shown_for_each_type() -> None:
    assert example(ORDER) == '[["0x…", [1, …]], …]'
    assert [example(Parameter(type_, "")) for type_ in ("uint8", "bool", "string", "string[]")] == [
        "1", "true", "text", '["text", …]',
    ]  # fmt: skip


@given(st.data())
def test_numbers_are_encoded_as_they_are_or_refused(data: st.DataObject) -> None:
    type_, (low, high) = data.draw(st.sampled_from(sorted(NUMBERS.items())))
    value = data.draw(st.integers(low - 2, high + 2) | st.sampled_from([low, high]))
    declaration = Declaration.parse(f"f({type_} x)")
    text = data.draw(st.sampled_from([str(value), hex(value)]))

    if low <= value <= high:
        assert encode_call(declaration, [text])[4:] == eth_abi.encode([type_], [value])
    else:
        with pytest.raises(BadFields):
            encode_call(declaration, [text])


@given(
    st.lists(st.tuples(st.text(), st.lists(st.integers(0, 2**64 - 1)), st.binary(), st.booleans()))
)
def test_nested_values_in_json_are_encoded(rows: list[tuple[str, list[int], bytes, bool]]) -> None:  # fmt: skip
    declaration = Declaration.parse("f((string s, uint64[] n, bytes b, bool o)[] rows)")
    text = json.dumps([[s, n, "0x" + b.hex(), o] for s, n, b, o in rows])

    assert encode_call(declaration, [text]) == declaration.selector + eth_abi.encode(
        declaration.types, [rows]
    )


def test_each_field_shows_its_error() -> None:
    declaration = Declaration.parse("f(uint8 a, bool b, address c)")

    with pytest.raises(BadFields) as refusal:
        encode_call(declaration, ["1", "2", "3"])
    assert sorted(refusal.value.reasons) == [1, 2]
    with pytest.raises(BadFields) as refusal:
        encode_call(Declaration.parse("f(string a)"), ["x" * (MAX_TEXT + 1)])
    assert "more than" in refusal.value.reasons[0]


def test_number_of_values_is_limited() -> None:
    declaration = Declaration.parse("f(uint8[] a, string[] b)")
    maximum = "[" + ",".join(["1"] * MAX_VALUES) + "]"

    assert len(encode_call(declaration, [maximum, '["a,b"]'])) > 32 * MAX_VALUES
    for texts in ([maximum[:-1] + ",1]", "[]"], [maximum, '["a", "b"]']):
        with pytest.raises(BadFields) as refusal:
            encode_call(declaration, texts)
        assert "values" in refusal.value.reasons[0]


@pytest.mark.parametrize(
    "parameter",
    [Parameter("uint7", "x"), Parameter("bytes40[]", "x"), Parameter("uint8[0][]", "x")],
)
def test_types_that_do_not_exist_are_refused(parameter: Parameter) -> None:
    with pytest.raises(BadFields):
        encode_call(Declaration("f", (parameter,)), ["[]" if "[" in parameter.type else "1"])


def test_types_that_are_too_long_together_are_not_read() -> None:
    longest = Parameter(f"({','.join(['uint8'] * 300)})", "x", (Parameter("uint8", ""),) * 300)
    text = json.dumps(["1"] * 300)

    assert len(encode_call(Declaration("f", (longest,)), [text])) == 4 + 32 * 300
    with pytest.raises(BadFields, match="too long"):
        encode_call(Declaration("f", (longest, longest)), [text, text])


@pytest.mark.parametrize(
    ("text", "wei"),
    [("", 0), ("1", 10**18), ("0.5", 5 * 10**17), (".5", 5 * 10**17), ("1.", 10**18), (" 0.000000000000000001 ", 1)],
)  # fmt: skip
def test_an_amount_of_coins_is_exact(text: str, wei: int) -> None:
    assert read_coins(text) == wei


@pytest.mark.parametrize(
    "text", ["-1", "1e3", ".", "1,5", "٣", "0.0000000000000000001", "9" * 200, "9" * 70]
)
def test_an_invalid_amount_is_refused(text: str) -> None:  # fmt: skip
    with pytest.raises(BadText):
        read_coins(text)


def test_mapping_keys_are_encoded_by_type() -> None:
    assert encode_key("uint8", "5") == (5).to_bytes(32, "big")
    assert encode_key("address", ADDRESS) == bytes.fromhex(ADDRESS[2:]).rjust(32, b"\0")
    assert encode_key("bytes2", "0x0102") == b"\1\2".ljust(32, b"\0")
    assert encode_key("string", "é") == "é".encode()
    assert encode_key("bytes", "0x0102") == b"\1\2"
    with pytest.raises(BadText):
        encode_key("string", "x" * (MAX_TEXT + 1))
