"""Predicates in access lists and their results, by the vectors of coreth."""

import json
from pathlib import Path
from typing import Any

import pytest

from cchain_app.precompiles.active import DURANGO_WARP_GAS
from cchain_app.precompiles.addresses import WARP
from cchain_app.precompiles.predicates import (
    PredicateError,
    encode_results,
    extra_gas,
    pack,
    parse_all_results,
    parse_predicates,
    parse_results,
    unpack,
)
from cchain_app.txs.transaction import intrinsic_gas
from primitives.evm import Address
from tests.builders.transactions import signed

CASES = json.loads(
    (Path(__file__).parents[2] / "vectors" / "coreth" / "predicates.json").read_text()
)


def cases(op: str, **having: Any) -> list[Any]:
    found = [
        pytest.param(case, id=str(case["case"]))
        for case in CASES
        if case["op"] == op and all(case.get(key) == value for key, value in having.items())
    ]
    assert found
    return found


def data(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def test_every_case_is_used() -> None:
    ops = {"pack", "unpack", "results", "parseResults", "intrinsicGas"}

    assert {case["op"] for case in CASES} == ops


@pytest.mark.parametrize("case", cases("pack"))
def test_bytes_are_written_as_storage_keys(case: dict[str, Any]) -> None:
    keys = [data(key) for key in case["storageKeys"]]

    assert pack(data(case["bytes"])) == keys
    assert unpack(keys) == data(case["bytes"])


@pytest.mark.parametrize("case", cases("unpack"))
def test_storage_keys_are_read(case: dict[str, Any]) -> None:
    keys = [data(key) for key in case["storageKeys"]]
    if case["error"] is None:
        assert unpack(keys) == data(case["bytes"])
        return
    with pytest.raises(PredicateError) as raised:
        unpack(keys)
    assert str(raised.value) == case["error"]


@pytest.mark.parametrize("case", cases("results"))
def test_results_are_written_and_read(case: dict[str, Any]) -> None:
    results = {
        data(transaction): {data(address): data(bits) for address, bits in by_address.items()}
        for transaction, by_address in case["results"].items()
    }

    assert parse_all_results(data(case["bytes"])) == results
    # the bit sets of some cases have leading zeros or other addresses
    of_warp = {
        transaction: int.from_bytes(by_address.get(WARP, b""), "big")
        for transaction, by_address in results.items()
    }
    if encode_results(of_warp) == data(case["bytes"]):
        assert parse_results(data(case["bytes"])) == of_warp


@pytest.mark.parametrize("case", cases("parseResults"))
def test_malformed_results_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(PredicateError) as raised:
        parse_results(data(case["bytes"]))
    assert str(raised.value) == case["error"]


@pytest.mark.parametrize("case", cases("intrinsicGas", phase="durango"))
def test_the_gas_of_predicates(case: dict[str, Any]) -> None:
    access_list = tuple(
        (Address(data(entry["address"])), tuple(map(data, entry["storageKeys"])))
        for entry in case["accessList"] or ()
    )
    if case["error"]:
        with pytest.raises(PredicateError) as raised:
            parse_predicates(access_list)
        assert str(raised.value) == case["error"]
        return
    item = signed(access_list=access_list, type=1)

    ordinary = intrinsic_gas(item, "cancun")

    assert ordinary + extra_gas(parse_predicates(access_list), DURANGO_WARP_GAS) == case["gas"]


@pytest.mark.parametrize("case", cases("intrinsicGas", phase="cortina"))
def test_predicates_before_warp_cost_as_ordinary_entries(case: dict[str, Any]) -> None:
    access_list = tuple(
        (Address(data(entry["address"])), tuple(map(data, entry["storageKeys"])))
        for entry in case["accessList"] or ()
    )

    assert intrinsic_gas(signed(access_list=access_list, type=1), "cancun") == case["gas"]
