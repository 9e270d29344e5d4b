"""The network of the vectors: the reference's local one."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.transactions import (
    CODEC,
    SignedAtomicBody,
    UnsignedExportTx,
    UnsignedImportTx,
)
from primitives.ids import ID, P_CHAIN_ID

KEYS = json.loads((Path(__file__).parents[3] / "vectors/atomic/keys.json").read_text())["cases"]

C_CHAIN_ID = ID.parse("2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC")
X_CHAIN_ID = ID.parse("2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed")
ASSET_ID = ID.parse("2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe")
PARAMETERS = AtomicParameters(
    network_id=12345,
    blockchain_id=C_CHAIN_ID,
    peers=frozenset({P_CHAIN_ID, X_CHAIN_ID}),
    asset_id=ASSET_ID,
    wei_per_unit=10**9,
)


def key(number: int) -> bytes:
    """Return a private key by its number."""
    (found,) = (case for case in KEYS if case["key"] == number)
    return bytes.fromhex(found["privateKey"])


def parameters_of(case: dict[str, Any]) -> AtomicParameters:
    """Return the parameters with the rate of a case."""
    return replace(PARAMETERS, wei_per_unit=int(case["weiPerUnit"]))


def unsigned_of(raw: bytes) -> UnsignedImportTx | UnsignedExportTx:
    """Return the unsigned transaction of its bytes."""
    body = CODEC.unmarshal(SignedAtomicBody, raw + bytes(4))  # no credentials
    assert isinstance(body.unsigned, UnsignedImportTx | UnsignedExportTx)
    return body.unsigned
