"""Transactions: bytes, IDs, JSON, rules and effects, in the reference's words."""

from typing import Annotated, Any

import pytest

from chainvm.shared_memory import AtomicRequests
from primitives import addresses
from primitives.codec import INTERFACE
from primitives.codec_errors import CodecError
from primitives.ids import ShortID
from tests.conformance.xchain_vectors import cases, raw_bytes, world
from utxo.components import UTXO
from utxo.errors import InvalidTx
from xchain_app.executor.effects import effects_of
from xchain_app.executor.semantic import verify_semantics
from xchain_app.state.chain import AvmDiff
from xchain_app.txs.base import UnsignedAvmTx, conflict_keys, credentials_needed
from xchain_app.txs.codec import CODEC, TYPES, build, parse, parse_stored, sign_bytes
from xchain_app.txs.extensions import owners_of
from xchain_app.txs.syntax import verify_syntax
from xchain_app.txs.views import render_tx

NOT_PORTABLE = {
    # The reference reads an output as a credential, and fails at what follows.
    "parse/019": "does not implement interface verify.Verifiable",
}


def shown(address: ShortID) -> str:
    return f"X-{addresses.encode('local', address)}"


def judged(case: dict[str, Any]) -> tuple[str, str | None]:
    """Return the first step that fails, and the error."""
    here = world() if case["bootstrapped"] else world().bootstrapping()
    try:
        tx = parse(raw_bytes(case["tx"]))
    except CodecError as error:
        return "parse", str(error)
    try:
        verify_syntax(tx, here.env)
    except InvalidTx as error:
        return "syntactic", str(error)
    try:
        verify_semantics(tx, AvmDiff(here.state), here.env, here.clock)
    except InvalidTx as error:
        return "semantic", str(error)
    return "valid", None


@pytest.mark.parametrize(
    "case", cases("transactions", "syntactic", "semantic", "bootstrapping", "parse")
)
def test_first_broken_rule_has_its_message(case: dict[str, Any]) -> None:
    step, error = judged(case)

    assert step == case["step"]
    if case["id"] in NOT_PORTABLE:
        assert error is not None
        assert NOT_PORTABLE[case["id"]] in error
    else:
        assert error == case["error"]


@pytest.mark.parametrize("case", cases("transactions", "syntactic", "semantic", "bootstrapping"))
def test_bytes_are_read_and_written(case: dict[str, Any]) -> None:
    raw = raw_bytes(case["tx"])

    tx = parse(raw)

    assert str(tx.tx_id) == case["txID"]
    assert TYPES[case["typeID"]] is type(tx.unsigned)
    assert build(tx.unsigned, tx.credentials).raw == raw


@pytest.mark.parametrize("case", cases("transactions"))
def test_transactions_have_the_same_json_and_effects(case: dict[str, Any]) -> None:
    tx = parse(raw_bytes(case["tx"]))
    wanted = case["effects"]

    effects = effects_of(tx)

    assert sign_bytes(tx.unsigned) == raw_bytes(case["unsigned"])
    assert render_tx(tx, shown) == case["json"]
    assert [str(utxo_id) for utxo_id in effects.consumed] == wanted["consumed"]
    assert [_utxo(utxo) for utxo in effects.produced] == wanted["produced"] == case["utxos"]
    assert [str(utxo_id) for utxo_id in effects.imported] == wanted["importedInputs"]
    assert sorted(map(str, conflict_keys(tx.unsigned))) == sorted(wanted["conflictKeys"])
    assert credentials_needed(tx.unsigned) == wanted["credentials"]
    requests = [] if effects.requests is None else [_request(effects.requests)]
    assert requests == wanted["atomicRequests"]


def _utxo(utxo: UTXO) -> dict[str, str]:
    return {"utxoID": str(utxo.utxo_id), "bytes": f"0x{CODEC.marshal(utxo).hex()}"}


def _request(request: AtomicRequests) -> dict[str, Any]:
    return {
        "peer": str(request.peer),
        "remove": [f"0x{key.hex()}" for key in request.remove],
        "put": [
            {
                "key": f"0x{utxo.utxo_id.hex()}",
                "value": f"0x{CODEC.marshal(utxo).hex()}",
                "traits": [f"0x{owner.hex()}" for owner in owners_of(utxo.output).addresses],
            }
            for utxo in request.put
        ],
    }


def _literal(raw: bytes) -> dict[str, Any]:
    """Return how the codec reads bytes: as an unsigned transaction, as a signed one, or not at all."""
    try:
        unsigned = CODEC.unmarshal(Annotated[UnsignedAvmTx, INTERFACE], raw)
    except CodecError:
        pass
    else:
        return {"typeID": CODEC.type_id(type(unsigned))}
    try:
        tx = parse_stored(raw)
    except CodecError as error:
        return {"error": str(error)}
    return {
        "typeID": CODEC.type_id(type(tx.unsigned)),
        "credentials": len(tx.credentials),
        "txID": str(tx.tx_id),
    }


@pytest.mark.parametrize("case", cases("literals"))
def test_the_bytes_of_the_references_own_tests(case: dict[str, Any]) -> None:
    assert _literal(raw_bytes(case["bytes"])).items() <= case["asTransaction"].items()
