"""Compares answers of the C-Chain with the schemas of the Ethereum JSON-RPC (tests/vectors/openrpc.json).

Eight exceptions are allowed, where the document is stricter than the servers that it describes:

- `oneOf` is read as `anyOf`, because an empty array fits several branches.
- A pending transaction has no block fields.
- A header of a subscription has no body.
- The pending block has geth's form: no hash, nonce and miner.
- A fee history of no blocks has geth's form.
- Raw receipts above the head are null, as in geth.
- A simulated call that failed has geth's message.
- A signed transaction has Anvil's form.
"""

import json
from collections.abc import Collection, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft201909Validator

DOCUMENT = Path(__file__).resolve().parents[1] / "vectors" / "openrpc.json"

BLOCK_FIELDS = ("blockHash", "blockNumber", "blockTimestamp", "transactionIndex")
"""Fields that a transaction has only after it was included in a block."""

NOT_YET_KNOWN = ("hash", "nonce", "miner")
"""Fields that are null in the pending block."""

BODY_FIELDS = ("size", "transactions", "uncles")
"""Fields of a block that its header, as sent by newHeads, does not have."""

AS_ANVIL_HAS_THEM = frozenset({"eth_signTransaction"})
"""Methods of development chains whose clients expect Anvil's format (devnet.md 4)."""

VM_ERROR = -32015
"""Code of a simulated call that failed without a revert; the document only suggests its message."""

ALIASES = {
    "eth_getRawTransactionByHash": "debug_getRawTransaction",
    "eth_getUncleCountByBlockHash": "eth_getBlockTransactionCountByHash",
    "eth_getUncleCountByBlockNumber": "eth_getBlockTransactionCountByNumber",
}
"""Methods that the document omits, with the documented methods whose result format they share."""


class DoesNotConform(AssertionError):
    """An answer does not conform to the document's schema of its method."""


def assert_conforms(method: str, result: Any) -> None:
    """Check a method's result against its schema.

    Undocumented methods pass; other tests check the format of their results.

    Raises:
        DoesNotConform: The result has another format.
    """
    validator = _validator(ALIASES.get(method, method))
    if method in AS_ANVIL_HAS_THEM:
        return
    if validator is None or _is_empty_fee_history(method, result) or _is_above_head(method, result):
        return
    if method == "eth_simulateV1":
        result = _with_suggested_words(result)
    if _is_pending_block(result):
        validator, result = _pending_validator(), _without(result, NOT_YET_KNOWN)
    elif _is_waiting(result):
        validator, result = _waiting_validator(), _without(result, BLOCK_FIELDS)
    elif isinstance(result, list) and result and all(map(_is_waiting, result)):
        for transaction in result:
            assert_conforms("eth_getTransactionByHash", transaction)
        return
    _check(method, validator, result)


def assert_notification_conforms(kind: str, result: Any) -> None:
    """Check the result in a notification against the schema of the same object in method results.

    Raises:
        DoesNotConform: The result has another format, or the kind of subscription is unknown.
    """
    if kind == "newHeads":
        _check(kind, _head_validator(), result)
    elif kind == "logs":
        _check(kind, _log_validator(), result)
    elif kind in {"newPendingTransactions", "newAcceptedTransactions"}:
        whole = isinstance(result, dict)
        assert_conforms("eth_getTransactionByHash" if whole else "eth_sendRawTransaction", result)
    else:
        raise DoesNotConform(f"no subscription, or one of an unknown kind: {kind}")


def documented(method: str) -> bool:
    """Return whether the document has a schema for this method."""
    return ALIASES.get(method, method) in _schemas()


def _check(name: str, validator: Draft201909Validator, result: Any) -> None:
    faults = sorted(validator.iter_errors(result), key=lambda fault: list(map(str, fault.path)))
    if faults:
        raise DoesNotConform("\n".join(f"{name}: {line}" for line in _lines(faults)))


def _lines(faults: list[Any]) -> Iterator[str]:
    for fault in faults:
        yield f"at /{'/'.join(map(str, fault.absolute_path))}: {fault.message[:600]}"
        for inner in fault.context or ():
            yield f"  or /{'/'.join(map(str, inner.absolute_path))}: {inner.message[:300]}"


@cache
def _schemas() -> dict[str, Any]:
    document = json.loads(DOCUMENT.read_text())
    return {method["name"]: method["result"]["schema"] for method in document["methods"]}


@cache
def _validator(method: str) -> Draft201909Validator | None:
    schema = _schemas().get(method)
    return None if schema is None else Draft201909Validator(_relaxed(schema))


@cache
def _waiting_validator() -> Draft201909Validator:
    schema = deepcopy(_schemas()["eth_getTransactionByHash"])
    for branch in schema["oneOf"]:
        if "required" in branch:
            branch["required"] = [name for name in branch["required"] if name not in BLOCK_FIELDS]
    return Draft201909Validator(_relaxed(schema))


@cache
def _head_validator() -> Draft201909Validator:
    """Return the schema of a block without the fields that a header does not have."""
    return _block_validator(BODY_FIELDS)


@cache
def _pending_validator() -> Draft201909Validator:
    """Return the schema of a block without the fields that are known only after it is built."""
    return _block_validator(NOT_YET_KNOWN)


def _block_validator(missing: Collection[str]) -> Draft201909Validator:
    block = next(
        schema for schema in _schemas()["eth_getBlockByHash"]["oneOf"] if "required" in schema
    )
    required = [name for name in block["required"] if name not in missing]
    return Draft201909Validator(_relaxed({**block, "required": required}))


@cache
def _log_validator() -> Draft201909Validator:
    arrays = _schemas()["eth_getLogs"]["oneOf"]
    logs = next(array for array in arrays if array["items"]["type"] == "object")
    return Draft201909Validator(logs["items"])


def _relaxed(schema: Any) -> Any:
    """Return the schema with every `oneOf` read as `anyOf`."""
    if isinstance(schema, list):
        return [_relaxed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    relaxed = {name: _relaxed(part) for name, part in schema.items() if name != "oneOf"}
    if "oneOf" in schema:
        relaxed["anyOf"] = relaxed.get("anyOf", []) + _relaxed(schema["oneOf"])
    return relaxed


def _is_waiting(result: Any) -> bool:
    return (
        isinstance(result, dict)
        and {"hash", "nonce", "from", "blockHash"} <= result.keys()
        and result["blockHash"] is None
    )


def _is_pending_block(result: Any) -> bool:
    return (
        isinstance(result, dict)
        and "parentHash" in result
        and [result[name] for name in NOT_YET_KNOWN] == [None] * len(NOT_YET_KNOWN)
    )


def _without(result: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name not in names}


def _with_suggested_words(result: Any) -> Any:
    """Return simulated blocks with the document's message for failures other than reverts."""
    result = deepcopy(result)
    for block in result:
        for call in block["calls"]:
            if call.get("error", {}).get("code") == VM_ERROR:
                call["error"]["message"] = "vm execution error"
    return result


def _is_above_head(method: str, result: Any) -> bool:
    return method == "debug_getRawReceipts" and result is None


def _is_empty_fee_history(method: str, result: Any) -> bool:
    return method == "eth_feeHistory" and result == {"oldestBlock": "0x0", "gasUsedRatio": None}
