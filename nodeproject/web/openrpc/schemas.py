"""JSON Schemas of the reference: their builders, and the recurring ones of the C-Chain's interface: blocks, logs, traces."""

from collections.abc import Mapping
from typing import Any, Final

Schema = Mapping[str, Any]
"""A JSON Schema of draft 7, as OpenRPC 1.3 has them."""

WHERE: Final = "#/components/schemas/"

NULL: Final[Schema] = {"type": "null"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
TRUE: Final[Schema] = {"const": True}
TEXT: Final[Schema] = {"type": "string"}
NUMBER: Final[Schema] = {"type": "number"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
OBJECT: Final[Schema] = {"type": "object"}
NOTHING: Final[Schema] = {"type": "object", "additionalProperties": False}
"""An object without members: the result of methods with named params that have nothing to report."""
ANYTHING: Final[Schema] = {}


def ref(name: str) -> Schema:
    """Return a reference to the schema of that name among the document's components."""
    return {"$ref": WHERE + name}


def array(of: Schema, **limits: int) -> Schema:
    """Return the schema of an array of elements of one kind."""
    return {"type": "array", "items": of, **limits}


def mapping(of: Schema) -> Schema:
    """Return the schema of an object with members of any name and of one kind."""
    return {"type": "object", "additionalProperties": of}


def nullable(schema: Schema) -> Schema:
    """Return a schema that also allows null."""
    return one_of(schema, NULL)


def one_of(*schemas: Schema) -> Schema:
    """Return the schema of a value that fits one of several. It may fit more: an empty array fits any array."""
    return {"anyOf": list(schemas)}


def record(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of an object with these members and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def options(**members: Schema) -> Schema:
    """Return the schema of an object sent by a client: each member may be missing, unknown ones are ignored."""
    return {"type": "object", "properties": members}


def pattern(expression: str, description: str) -> Schema:
    """Return the schema of a text that matches an expression."""
    return {"type": "string", "pattern": expression, "description": description}


def words(*allowed: str) -> Schema:
    """Return the schema of a text that is one of a few."""
    return {"type": "string", "enum": list(allowed)}


def described(schema: Schema, description: str) -> Schema:
    """Return a schema with a description; a reference is wrapped, because draft 7 allows nothing beside it."""
    if "$ref" in schema:
        return {"allOf": [schema], "description": description}
    return {**schema, "description": description}


QUANTITY: Final = ref("Quantity")
DATA: Final = ref("Data")
ADDRESS: Final = ref("Address")
HASH: Final = ref("Hash")
LOG: Final = ref("Log")
BLOCK: Final = ref("Block")
HEADER: Final = ref("Header")
TRANSACTION: Final = ref("Transaction")
RECEIPT: Final = ref("Receipt")
WORD: Final = HASH

_HEADER: Final[Mapping[str, Schema]] = {
    "hash": nullable(HASH), "parentHash": HASH, "sha3Uncles": HASH, "miner": nullable(ADDRESS),
    "stateRoot": HASH, "transactionsRoot": HASH, "receiptsRoot": HASH, "logsBloom": DATA,
    "difficulty": QUANTITY, "number": QUANTITY, "gasLimit": QUANTITY, "gasUsed": QUANTITY,
    "timestamp": QUANTITY, "extraData": DATA, "mixHash": HASH, "nonce": nullable(DATA),
}  # fmt: skip
"""hash, miner and nonce are null only in the pending block."""

_SINCE_FORKS: Final[Mapping[str, Schema]] = {
    "baseFeePerGas": QUANTITY, "withdrawalsRoot": HASH, "blobGasUsed": QUANTITY,
    "excessBlobGas": QUANTITY, "parentBeaconBlockRoot": HASH, "requestsHash": HASH,
}  # fmt: skip

_BODY: Final[Mapping[str, Schema]] = {"size": QUANTITY, "uncles": array(HASH)}

_WITHDRAWALS: Final[Mapping[str, Schema]] = {
    "withdrawals": array(
        record({
            "index": QUANTITY, "validatorIndex": QUANTITY, "address": ADDRESS, "amount": QUANTITY,
        })
    ),
}  # fmt: skip

_UNPLACED: Final[Mapping[str, Schema]] = {
    "gasPrice": QUANTITY, "type": QUANTITY, "hash": HASH, "from": ADDRESS, "to": nullable(ADDRESS),
    "nonce": QUANTITY, "gas": QUANTITY, "value": QUANTITY, "input": DATA, "v": QUANTITY,
    "r": QUANTITY, "s": QUANTITY,
}  # fmt: skip

_PLACE: Final[Mapping[str, Schema]] = {
    "blockHash": nullable(HASH), "blockNumber": nullable(QUANTITY),
    "blockTimestamp": nullable(QUANTITY), "transactionIndex": nullable(QUANTITY),
}  # fmt: skip

_OF_TYPES: Final[Mapping[str, Schema]] = {
    "chainId": QUANTITY, "yParity": QUANTITY, "accessList": ref("AccessList"),
    "maxFeePerGas": QUANTITY, "maxPriorityFeePerGas": QUANTITY, "maxFeePerBlobGas": QUANTITY,
    "blobVersionedHashes": array(HASH), "authorizationList": array(ref("Authorization")),
}  # fmt: skip

_RECEIPT: Final[Mapping[str, Schema]] = {
    "type": QUANTITY, "transactionHash": HASH, "transactionIndex": QUANTITY, "blockHash": HASH,
    "blockNumber": QUANTITY, "from": ADDRESS, "to": nullable(ADDRESS),
    "contractAddress": nullable(ADDRESS), "gasUsed": QUANTITY, "cumulativeGasUsed": QUANTITY,
    "effectiveGasPrice": QUANTITY,
}  # fmt: skip

_RECEIPT_OPTIONS: Final[Mapping[str, Schema]] = {
    "status": described(QUANTITY, "0x1: success, 0x0: failure"),
    "root": described(HASH, "the state root; before Byzantium, instead of the status"),
    "blobGasUsed": QUANTITY, "blobGasPrice": QUANTITY,
}  # fmt: skip

_TRACE_ACTIONS: Final = one_of(
    record({
        "from": ADDRESS, "callType": TEXT, "gas": QUANTITY, "input": DATA, "to": ADDRESS,
        "value": QUANTITY,
    }),
    record({
        "from": ADDRESS, "creationMethod": TEXT, "gas": QUANTITY, "init": DATA, "value": QUANTITY,
    }),
    record({"address": ADDRESS, "balance": QUANTITY, "refundAddress": ADDRESS}),
    record({"author": ADDRESS, "rewardType": words("block", "uncle"), "value": QUANTITY}),
)  # fmt: skip

_TRACE: Final[Mapping[str, Schema]] = {
    "action": _TRACE_ACTIONS,
    "result": one_of(
        record({"gasUsed": QUANTITY, "output": DATA}),
        record({"address": ADDRESS, "code": DATA, "gasUsed": QUANTITY}),
        NULL,
    ),
    "subtraces": COUNT,
    "traceAddress": array(COUNT),
    "type": words("call", "create", "suicide", "reward"),
}
_TRACE_PLACE: Final[Mapping[str, Schema]] = {
    "blockHash": HASH, "blockNumber": COUNT, "transactionHash": nullable(HASH),
    "transactionPosition": nullable(COUNT),
}  # fmt: skip


def _difference(of: Schema) -> Schema:
    return one_of(
        {"const": "="},
        record({"+": of}),
        record({"-": of}),
        record({"*": record({"from": of, "to": of})}),
    )


_DIFFERENCES: Final = mapping(
    record({
        "balance": _difference(QUANTITY), "code": _difference(DATA),
        "nonce": _difference(QUANTITY), "storage": mapping(_difference(WORD)),
    })
)  # fmt: skip

_REPLAY: Final[Mapping[str, Schema]] = {
    "output": DATA,
    "trace": array(ref("TraceEntry")),
    "stateDiff": nullable(_DIFFERENCES),
    "vmTrace": nullable(
        described({"type": "object"}, "the executed code, and the effect of each instruction")
    ),
}

_CALL_FIELDS: Final[Mapping[str, Schema]] = dict(
    **{"from": ADDRESS},
    to=described(one_of(ADDRESS, {"const": ""}), "if it is missing, a contract is created"),
    gas=QUANTITY, gasPrice=QUANTITY, maxFeePerGas=QUANTITY, maxPriorityFeePerGas=QUANTITY,
    value=QUANTITY, nonce=QUANTITY, input=described(DATA, "the call data"),
    data=described(DATA, "the call data, if `input` is missing"),
    accessList=ref("AccessList"), chainId=QUANTITY, maxFeePerBlobGas=QUANTITY,
    blobVersionedHashes=array(HASH), authorizationList=array(ref("Authorization")),
)  # fmt: skip

_CALL: Final = options(**_CALL_FIELDS)

_SIDECAR: Final[Mapping[str, Schema]] = {
    "blobs": described(array(DATA), "131,072 bytes each"),
    "commitments": described(array(DATA), "48 bytes each"),
    "proofs": described(array(DATA), "48 bytes each: one for each blob, or 128"),
}

_TRANSACTION_CALL: Final = options(**_CALL_FIELDS, **_SIDECAR)

BLOCK_OVERRIDES: Final[Mapping[str, Schema]] = {
    "number": QUANTITY, "time": QUANTITY, "gasLimit": QUANTITY, "feeRecipient": ADDRESS,
    "prevRandao": HASH, "baseFeePerGas": QUANTITY, "blobBaseFee": QUANTITY, "difficulty": QUANTITY,
}  # fmt: skip
"""The fields of a block that calls can override."""

_SLOTS: Final = mapping(WORD)

COMPONENTS: Final[Mapping[str, Schema]] = {
    "Quantity": pattern("^0x(0|[1-9a-f][0-9a-f]*)$", "a number in hexadecimal, without leading zeros"),
    "Data": pattern("^0x([0-9a-fA-F]{2})*$", "bytes in hexadecimal, two digits each"),
    "Address": pattern("^0x[0-9a-fA-F]{40}$", "20 bytes"),
    "Hash": pattern("^0x[0-9a-fA-F]{64}$", "32 bytes"),
    "BlockTag": words("earliest", "latest", "pending", "safe", "finalized", "accepted"),
    "BlockNumber": described(one_of(QUANTITY, ref("BlockTag")), "a block by its height or tag"),
    "BlockParam": described(
        one_of(
            QUANTITY,
            ref("BlockTag"),
            HASH,
            options(blockNumber=ref("BlockNumber"), blockHash=HASH, requireCanonical=BOOLEAN),
        ),
        "a block by its height, role or hash, the last two also in an object",
    ),
    "AccessList": array(record({"address": ADDRESS, "storageKeys": array(WORD)})),
    "Authorization": record({
        "chainId": QUANTITY, "address": ADDRESS, "nonce": QUANTITY, "yParity": QUANTITY,
        "r": QUANTITY, "s": QUANTITY,
    }),
    "Header": record(_HEADER, _SINCE_FORKS),
    "Block": record(
        {**_HEADER, **_BODY, "transactions": one_of(array(HASH), array(TRANSACTION))},
        {**_SINCE_FORKS, **_WITHDRAWALS},
    ),
    "Uncle": record({**_HEADER, **_BODY}, _SINCE_FORKS),
    "Transaction": described(
        record({**_PLACE, **_UNPLACED}, _OF_TYPES), "block and index are null while it is pending"
    ),
    "UnsignedTransaction": record(_UNPLACED, _OF_TYPES),
    "Receipt": record({**_RECEIPT, "logs": array(LOG), "logsBloom": DATA}, _RECEIPT_OPTIONS),
    "Log": record({
        "address": ADDRESS, "topics": array(WORD, maxItems=4), "data": DATA,
        "blockNumber": QUANTITY, "blockHash": HASH, "blockTimestamp": QUANTITY,
        "transactionHash": HASH, "transactionIndex": QUANTITY, "logIndex": QUANTITY,
        "removed": BOOLEAN,
    }),
    "Call": _CALL,
    "TransactionCall": _TRANSACTION_CALL,
    "BlockOverrides": options(**BLOCK_OVERRIDES),
    "StateOverrides": described(
        mapping(
            options(
                balance=QUANTITY, nonce=QUANTITY, code=DATA,
                state=described(_SLOTS, "the whole storage; other slots are zero"),
                stateDiff=described(_SLOTS, "slots with values that differ from the chain's"),
                movePrecompileToAddress=ADDRESS,
            )
        ),
        "accounts with values that differ from the chain's, by address",
    ),
    "TraceEntry": record(_TRACE, {"error": TEXT}),
    "LocalizedTraceEntry": record({**_TRACE, **_TRACE_PLACE}, {"error": TEXT}),
    "ReplayResult": record(_REPLAY),
    "ReplayedTransaction": record({**_REPLAY, "transactionHash": HASH}),
    "TracerResult": described(
        {},
        "the result of the tracer: by default the struct log of geth (`gas`, `failed`, `returnValue`, "
        "`structLogs`); callTracer a tree of calls; erc7562Tracer the same tree with the opcodes, "
        "slots and accounts that each call uses; the others have forms of their own",
    ),
    "OtterscanBlock": record(
        {
            **_HEADER, **_BODY, "logsBloom": nullable(DATA), "transactionCount": COUNT,
            "totalDifficulty": QUANTITY,
        },
        {**_SINCE_FORKS, **_WITHDRAWALS, "transactions": array(TRANSACTION)},
    ),
    "OtterscanReceipt": record(
        {**_RECEIPT, "logs": NULL, "logsBloom": NULL, "timestamp": COUNT}, _RECEIPT_OPTIONS
    ),
}  # fmt: skip
