"""The golden vectors of coreth (tests/vectors/coreth, whose README describes the files)."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cchain_app.rules.coreth.header import CorethHeader

VECTORS = Path(__file__).parents[1] / "vectors" / "coreth"


@cache
def document(name: str) -> Any:
    """Return the content of a file."""
    return json.loads((VECTORS / f"{name}.json").read_text())


def cases(name: str, **having: Any) -> list[Any]:
    """Return the cases of a file with these values, as parameters named by their numbers."""
    content = document(name)
    listed = content["cases"] if isinstance(content, dict) else content
    chosen = [
        case for case in listed if all(case.get(field) == value for field, value in having.items())
    ]
    assert chosen, f"no cases of {name} have {having}"
    return [
        pytest.param(case, id=" ".join(str(case[key]) for key in ("case", "name") if key in case))
        for case in chosen
    ]


def data(text: str) -> bytes:
    """Return the bytes of a hexadecimal string, with or without 0x."""
    return bytes.fromhex(text.removeprefix("0x"))


_JSON_NAMES = {
    "parentHash": "parent_hash",
    "sha3Uncles": "ommers_hash",
    "miner": "coinbase",
    "stateRoot": "state_root",
    "transactionsRoot": "transactions_root",
    "receiptsRoot": "receipts_root",
    "logsBloom": "logs_bloom",
    "difficulty": "difficulty",
    "number": "number",
    "gasLimit": "gas_limit",
    "gasUsed": "gas_used",
    "timestamp": "timestamp",
    "extraData": "extra_data",
    "mixHash": "mix_hash",
    "nonce": "nonce",
    "extDataHash": "ext_data_hash",
    "baseFeePerGas": "base_fee",
    "extDataGasUsed": "ext_data_gas_used",
    "blockGasCost": "block_gas_cost",
    "blobGasUsed": "blob_gas_used",
    "excessBlobGas": "excess_blob_gas",
    "parentBeaconBlockRoot": "parent_beacon_block_root",
    "timestampMilliseconds": "time_milliseconds",
    "minDelayExcess": "min_delay_excess",
    "targetExponent": "target_exponent",
    "minPriceExponent": "min_price_exponent",
    "settledHeight": "settled_height",
    "settledGasUnix": "settled_gas_unix",
    "settledGasNumerator": "settled_gas_numerator",
    "settledExcess": "settled_excess",
}


def header_of(fields: dict[str, Any]) -> CorethHeader:
    """Return the header with the fields of a vector."""
    values: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, str) and value.startswith("0x"):
            values[_JSON_NAMES[name]] = data(value)
        else:
            values[_JSON_NAMES[name]] = int(value)
    return CorethHeader(**values)
