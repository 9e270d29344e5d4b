"""The schemas of arguments: for the C-Chain by the function that parses them, for other interfaces by name.

In the C-Chain's interface each form of argument has its own parser. Methods with named params mostly take texts
and report errors in them on their own; there an argument name has the same meaning wherever it occurs.

Unspecified: the schemas describe what clients should send. The parsers accept more than that, like those of the
reference: empty texts as quantities, other letter case, numbers with and without quotes.
"""

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from cchain_app.api import avax, warp
from cchain_app.api.devnet import chain as development_chain
from cchain_app.api.eth import forked
from cchain_app.api.params import accounts as params_accounts
from cchain_app.api.params import call as params_call
from cchain_app.api.params import development as development_params
from cchain_app.api.params import logs as params_logs
from cchain_app.api.params import tracing as params_tracing
from cchain_app.api.params import values as params
from cchain_app.tracing.options import TRACERS
from jsonrpc.dispatch.params import Param
from nodeproject.web.openrpc.schemas import (
    ADDRESS,
    ANYTHING,
    BLOCK_OVERRIDES,
    BOOLEAN,
    COUNT,
    DATA,
    HASH,
    QUANTITY,
    TEXT,
    WORD,
    Schema,
    array,
    described,
    mapping,
    nullable,
    one_of,
    options,
    pattern,
    ref,
    words,
)

_BLOCK_NUMBER: Final = ref("BlockNumber")
_CALL: Final = ref("Call")
_TRANSACTION_CALL: Final = ref("TransactionCall")
_ID: Final = ref("ID")
_NODE_ID: Final = ref("NodeID")
_PLATFORM_ADDRESS: Final = ref("PlatformAddress")

_L1_OWNER: Final = options(threshold=COUNT, addresses=array(_PLATFORM_ADDRESS, maxItems=1024))
_L1_VALIDATOR: Final = options(
    nodeID=described(_NODE_ID, "default: this node"),
    weight=COUNT,
    balance=described(COUNT, "in the smallest unit"),
    signer=described(
        options(publicKey=DATA, proofOfPossession=DATA),
        "the `nodePOP` of info.getNodeID; default: that of this node",
    ),
    remainingBalanceOwner=described(_L1_OWNER, "default: the address for change"),
    deactivationOwner=described(_L1_OWNER, "default: the address for change"),
)

_AMOUNT: Final = described(one_of(QUANTITY, COUNT), "a quantity or a plain number")
_TIME: Final = described(_AMOUNT, "Unix seconds, as a quantity or a plain number")
_SECONDS: Final = described(_AMOUNT, "seconds, as a quantity or a plain number")
_SMALL: Final = described(one_of(COUNT, QUANTITY), "a plain number or a quantity")

_TRACER_CONFIG: Final[Mapping[str, Schema]] = {
    "onlyTopCall": described(BOOLEAN, "callTracer: only the top call, without inner calls"),
    "withLog": described(BOOLEAN, "callTracer, erc7562Tracer: with logs"),
    "convertParityErrors": described(BOOLEAN, "flatCallTracer: error messages as in Parity"),
    "includePrecompiles": described(BOOLEAN, "flatCallTracer: with calls of precompiles"),
    "diffMode": described(BOOLEAN, "prestateTracer: only changed state, before and after"),
    "disableCode": described(BOOLEAN, "prestateTracer: without code"),
    "disableStorage": described(BOOLEAN, "prestateTracer: without storage"),
    "includeEmpty": described(BOOLEAN, "prestateTracer: with accounts that do not exist"),
    "ignoredOpcodes": described(
        array(QUANTITY),
        "erc7562Tracer: opcodes that are not counted; by default PUSH, DUP, SWAP, POP and arithmetic",
    ),
    "stackTopItemsSize": described(COUNT, "erc7562Tracer: has no effect, as in geth"),
}

_TRACER: Final[Mapping[str, Schema]] = {
    "tracer": words(*TRACERS),
    "tracerConfig": described(
        {"type": "object", "properties": _TRACER_CONFIG},
        "the tracer's options; for muxTracer the options of each tracer by name",
    ),
    "timeout": described(TEXT, "such as `5s`"),
    "enableMemory": BOOLEAN, "disableStack": BOOLEAN, "disableStorage": BOOLEAN,
    "enableReturnData": BOOLEAN, "limit": COUNT,
}  # fmt: skip
_OVERRIDES: Final = ref("BlockOverrides")
_ACCOUNTS: Final = ref("StateOverrides")
_TRACE_TYPES: Final = array(words("trace", "stateDiff", "vmTrace"))
_TOPICS: Final = described(
    array(nullable(one_of(WORD, array(WORD))), maxItems=4),
    "for each position a topic or alternatives; null matches any topic",
)

BY_READER: Final[Mapping[Callable[[Any], Any], Schema]] = {
    avax.account: described(TEXT, "an account: 0x and 40 hex digits"),
    params.boolean: BOOLEAN,
    params.quantity: QUANTITY,
    params.uint64: QUANTITY,
    params.data: DATA,
    params.address: ADDRESS,
    params.hash32: HASH,
    params.block_number: _BLOCK_NUMBER,
    params.block_param: ref("BlockParam"),
    params.storage_key: pattern("^(0x)?[0-9a-fA-F]{0,64}$", "a slot: at most 32 bytes"),
    params.count: _SMALL,
    params.percentiles: array({"type": "number", "minimum": 0, "maximum": 100}),
    params.milliseconds: described(_SMALL, "milliseconds"),
    params.unix_time: described(_SMALL, "Unix seconds; default: the head's time"),
    params.subscription_id: pattern("^0x[0-9a-f]+$", "the ID of a subscription"),
    params.filter_id: pattern("^0x[0-9a-f]+$", "the ID of a filter"),
    params.anything: ANYTHING,
    warp.message_id: described(one_of(_ID, HASH), "the ID of a message or block"),
    warp.quorum: described(_SMALL, "the least share of the weight, of 100"),
    warp.subnet_id: described(TEXT, "the subnet that signs; empty: the chain's own"),
    params_call.call: _CALL,
    params_call.state_overrides: _ACCOUNTS,
    params_call.block_overrides: _OVERRIDES,
    params_logs.log_criteria: options(
        fromBlock=_BLOCK_NUMBER,
        toBlock=_BLOCK_NUMBER,
        blockHash=described(HASH, "replaces fromBlock and toBlock"),
        address=one_of(ADDRESS, array(ADDRESS)),
        topics=_TOPICS,
    ),
    params_tracing.trace_config: options(**_TRACER),
    params_tracing.call_trace_options: options(
        **_TRACER, stateOverrides=_ACCOUNTS, blockOverrides=_OVERRIDES, txIndex=QUANTITY
    ),
    params_tracing.trace_types: _TRACE_TYPES,
    params_tracing.traced_calls: described(
        array({"type": "array", "items": [_CALL, _TRACE_TYPES], "minItems": 2, "maxItems": 2}),
        "calls, each with the requested trace types",
    ),
    params_tracing.height: one_of(_BLOCK_NUMBER, COUNT),
    params_tracing.trace_search: options(
        fromBlock=_BLOCK_NUMBER, toBlock=_BLOCK_NUMBER, fromAddress=array(ADDRESS),
        toAddress=array(ADDRESS), mode=words("union", "intersection"), after=_SMALL, count=_SMALL,
    ),
    params_call.payload: options(
        blockStateCalls=array(
            options(
                blockOverrides=options(
                    **BLOCK_OVERRIDES, beaconRoot=HASH, withdrawals=array({"type": "object"})
                ),
                stateOverrides=_ACCOUNTS,
                calls=array(_CALL),
            )
        ),
        traceTransfers=BOOLEAN, validation=BOOLEAN, returnFullTransactions=BOOLEAN,
    ),
    params_accounts.plain_int: {"type": "integer"},
    params_accounts.plain_uint64: COUNT,
    params_accounts.storage_requests: described(mapping(array(HASH)), "slots by account"),
    params_accounts.transaction: _TRANSACTION_CALL,
    params_accounts.transaction_with_sender: _TRANSACTION_CALL,
    params_accounts.call_with_blobs: _TRANSACTION_CALL,
    params_accounts.typed_data: described({"type": ["object", "string"]}, "an EIP-712 document"),
    params_accounts.signed_by: described(
        one_of(DATA, {"type": "array", "items": [DATA, ADDRESS], "minItems": 2, "maxItems": 2}),
        "a signature of 65 bytes, or an array of a signature and an address",
    ),
    development_params.amount: _AMOUNT,
    development_params.amount64: _AMOUNT,
    development_params.gas: _AMOUNT,
    development_params.seconds: _SECONDS,
    development_params.chain_id: _AMOUNT,
    development_params.moment: described(_AMOUNT, "Unix seconds; a number above 10^12 is in milliseconds"),
    development_params.timestamp: _TIME,
    development_params.flag: BOOLEAN,
    development_params.slot: one_of(QUANTITY, COUNT, WORD),
    development_params.word: WORD,
    development_params.code: DATA,
    development_params.addresses: one_of(ADDRESS, array(ADDRESS)),
    development_params.mining: one_of(_TIME, options(timestamp=_TIME, blocks=_AMOUNT)),
    development_params.interval: _SECONDS,
    development_chain.pairs: described(
        array(
            {"type": "array", "items": [one_of(DATA, _CALL), COUNT], "minItems": 2, "maxItems": 2}
        ),
        "signed transactions or their fields, each with the index of its new block, from 0",
    ),
    forked.url: TEXT,
}  # fmt: skip
"""The schemas of arguments whose parser serves several methods."""

BY_NAME: Final[Mapping[str, Schema]] = {
    "keys": array(BY_READER[params.storage_key]),
    "indexes": described(array(_SMALL), "one index"),
    "options": {"type": "object"},
    "subnetID": described(_ID, "default: the Primary Network"),
    "nodeIDs": array(_NODE_ID, maxItems=1024),
    "nodeID": _NODE_ID,
    "address": _PLATFORM_ADDRESS,
    "addresses": array(_PLATFORM_ADDRESS),
    "encoding": words("hex", "hexc", "hexnc", "json"),
    "txID": _ID,
    "blockID": _ID,
    "height": described(
        one_of(COUNT, words("proposed")),
        "a height, or `proposed` for the height that proposers use",
    ),
    "sourceChain": described(TEXT, "a chain's alias or ID"),
    "limit": COUNT,
    "startIndex": described(
        one_of(options(address=_PLATFORM_ADDRESS, utxo=_ID), COUNT),
        "the end of the page before; of containers the first index",
    ),
    "id": described(_ID, "the ID of an outer block"),
    "index": COUNT,
    "numToFetch": described(COUNT, "1 to 1024"),
    "tx": described(DATA, "a signed transaction"),
    "size": COUNT,
    "validationID": _ID,
    "validatorsOnly": BOOLEAN,
    "startTime": described(COUNT, "Unix seconds"),
    "endTime": described(COUNT, "Unix seconds"),
    "ids": array(_ID, maxItems=1024),
    "blockchainID": described(TEXT, "a blockchain's ID or alias"),
    "username": TEXT,
    "password": TEXT,
    "user": described(DATA, "the result of keystore.exportUser"),
    "privateKey": pattern("^PrivateKey-", "a private key in CB58"),
    "from": described(
        array(_PLATFORM_ADDRESS),
        "owners of the coins that are spent; default: all of the user's addresses",
    ),
    "changeAddr": described(
        _PLATFORM_ADDRESS, "the address that receives the change; default: one of `from`"
    ),
    "stakeAmount": described(COUNT, "in the smallest unit"),
    "weight": described(
        COUNT, "the stake amount under the name that subnets use, or the weight in an L1"
    ),
    "rewardAddress": _PLATFORM_ADDRESS,
    "delegationFeeRate": {"type": "number", "minimum": 0, "maximum": 100, "description": "percent"},
    "controlKeys": array(_PLATFORM_ADDRESS),
    "managerChainID": described(TEXT, "the alias or ID of the chain with the validator manager"),
    "managerAddress": described(DATA, "the address of the validator manager on that chain"),
    "validators": array(_L1_VALIDATOR, maxItems=1024),
    "validator": _L1_VALIDATOR,
    "balance": described(COUNT, "in the smallest unit"),
    "message": described(DATA, "a warp message"),
    "justification": described(
        DATA, "evidence for the signers, such as the ID of a converted subnet"
    ),
    "signingSubnetID": described(_ID, "the subnet that signs; default: the Primary Network"),
    "quorumPercentage": described(COUNT, "the least share of the weight; default: 67"),
    "pChainHeight": described(
        COUNT, "the height whose validators sign; default: the last accepted one"
    ),
    "proofOfPossession": described(DATA, "the proof of possession of the validator's BLS key"),
    "threshold": described(COUNT, "the number of controlKeys that must sign"),
    "vmID": described(TEXT, "a virtual machine's name or ID"),
    "fxIDs": array(TEXT),
    "name": TEXT,
    "genesisData": described(DATA, "with a checksum, in the given encoding"),
    "amount": described(COUNT, "in the smallest unit"),
    "to": described(TEXT, "an address"),
    "baseFee": described(TEXT, "hex, in wei per gas; default: that of the next block"),
    "targetChain": described(TEXT, "a chain's alias or ID"),
    "assetID": described(TEXT, "the asset's ID or symbol"),
    "memo": described(TEXT, "at most 256 bytes"),
    "symbol": described(TEXT, "one to four upper-case letters"),
    "denomination": described(COUNT, "the number of decimals, at most 32"),
    "initialHolders": array(options(amount=COUNT, address=_PLATFORM_ADDRESS), maxItems=1024),
    "minterSets": array(options(minters=array(_PLATFORM_ADDRESS), threshold=COUNT), maxItems=1024),
    "outputs": array(
        options(assetID=described(TEXT, "the asset's ID or symbol"), amount=COUNT, to=TEXT),
        maxItems=1024,
    ),
    "payload": described(DATA, "in the given encoding, at most 1024 bytes"),
    "groupID": COUNT,
    "includePartial": described(BOOLEAN, "also outputs with several owners or a lock"),
    "cursor": described(COUNT, "the number of transactions to skip"),
    "pageSize": described(COUNT, "at most 1024, which is the default"),
    "alias": described(TEXT, "a chain's alias: P, X or C"),
    "chain": described(TEXT, "a chain's alias or ID"),
    "tags": described(array(TEXT), "tags of checks; default: all checks"),
}
"""The schemas of arguments by name, where the parser does not determine them."""


_USER: Final = ("username", "password")
_STAKED: Final = (*_USER, "endTime", "rewardAddress")

NEEDED: Final[Mapping[str, Collection[str]]] = {
    "eth_subscribe": ("kind",),
    "platform.getBlock": ("blockID",),
    "platform.getUTXOs": ("addresses",),
    "platform.getRewardUTXOs": ("txID",),
    "platform.issueTx": ("tx",),
    "platform.getTx": ("txID",),
    "platform.getTxStatus": ("txID",),
    "platform.getL1Validator": ("validationID",),
    "platform.aggregateSignatures": ("message",),
    "platform.getMaxStakeAmount": ("nodeID", "startTime", "endTime"),
    "platform.getBlockchainStatus": ("blockchainID",),
    "platform.importKey": (*_USER, "privateKey"),
    "platform.exportKey": (*_USER, "address"),
    "platform.createAddress": _USER,
    "platform.listAddresses": _USER,
    "platform.addValidator": (*_STAKED, "stakeAmount"),
    "platform.addDelegator": (*_STAKED, "stakeAmount"),
    "platform.addSubnetValidator": (*_USER, "endTime", "weight", "subnetID"),
    "platform.createSubnet": (*_USER, "controlKeys", "threshold"),
    "platform.createBlockchain": (*_USER, "subnetID", "vmID", "name", "genesisData"),
    "platform.exportAVAX": (*_USER, "amount", "to"),
    "platform.convertSubnetToL1": (*_USER, "subnetID", "managerChainID", "validators"),
    "platform.registerL1Validator": _USER,
    "platform.setL1ValidatorWeight": _USER,
    "platform.increaseL1ValidatorBalance": (*_USER, "validationID", "balance"),
    "platform.disableL1Validator": (*_USER, "validationID"),
    "platform.importAVAX": (*_USER, "sourceChain", "to"),
    "avax.getUTXOs": ("addresses", "sourceChain"),
    "avax.issueTx": ("tx",),
    "avax.getAtomicTxStatus": ("txID",),
    "avax.getAtomicTx": ("txID",),
    "avax.importKey": (*_USER, "privateKey"),
    "avax.exportKey": (*_USER, "address"),
    "avax.import": (*_USER, "to", "sourceChain"),
    "avax.importAVAX": (*_USER, "to", "sourceChain"),
    "avax.export": (*_USER, "amount", "to", "assetID"),
    "avax.exportAVAX": (*_USER, "amount", "to"),
    "keystore.createUser": _USER,
    "keystore.deleteUser": _USER,
    "keystore.exportUser": _USER,
    "keystore.importUser": (*_USER, "user"),
    "avm.getBlock": ("blockID",),
    "avm.issueTx": ("tx",),
    "avm.getTx": ("txID",),
    "avm.getTxStatus": ("txID",),
    "avm.getUTXOs": ("addresses",),
    "avm.getBalance": ("address", "assetID"),
    "avm.getAllBalances": ("address",),
    "avm.getAddressTxs": ("address", "assetID"),
    "avm.createAddress": _USER,
    "avm.listAddresses": _USER,
    "avm.importKey": (*_USER, "privateKey"),
    "avm.exportKey": (*_USER, "address"),
    "avm.send": (*_USER, "amount", "assetID", "to"),
    "avm.sendMultiple": (*_USER, "outputs"),
    "avm.createAsset": (*_USER, "name", "symbol"),
    "avm.createFixedCapAsset": (*_USER, "name", "symbol", "initialHolders"),
    "avm.createVariableCapAsset": (*_USER, "name", "symbol", "minterSets"),
    "avm.createNFTAsset": (*_USER, "name", "symbol", "minterSets"),
    "avm.mint": (*_USER, "amount", "assetID", "to"),
    "avm.mintNFT": (*_USER, "assetID", "payload", "to"),
    "avm.sendNFT": (*_USER, "assetID", "to"),
    "avm.import": (*_USER, "sourceChain", "to"),
    "avm.importAVAX": (*_USER, "sourceChain", "to"),
    "avm.export": (*_USER, "amount", "assetID", "to"),
    "avm.exportAVAX": (*_USER, "amount", "to"),
    "wallet.issueTx": ("tx",),
    "index.getContainerRange": ("numToFetch",),
    "index.getIndex": ("id",),
    "index.getContainerByID": ("id",),
    "info.getBlockchainID": ("alias",),
    "info.isBootstrapped": ("chain",),
}
"""Arguments that a method needs although its signature does not require them: without them, calls fail or are useless."""


class Undocumented(Exception):
    """The schema of an argument or a result is missing, or a method has no example."""


def schema_of(param: Param) -> Schema:
    """Return the schema of a parameter, with its default if a client could send that.

    Raises:
        Undocumented: Neither its parser nor its name is known.
    """
    found = BY_READER.get(inspect.unwrap(param.parse)) or BY_NAME.get(param.name)
    if found is None and inspect.unwrap(param.parse) not in BY_READER:
        raise Undocumented(f"the form of the parameter {param.name}")
    schema = found or ANYTHING
    default = default_of(param)
    return schema if default is None else {**_open(schema), "default": default}


def default_of(param: Param) -> Any:
    """Return the default of a parameter as JSON; None if it has no default, or an empty one."""
    default = None if param.required else param.default
    if isinstance(default, bool):
        return default
    if isinstance(default, int):
        return default or None
    return str(default) or None if isinstance(default, str) else None


def _open(schema: Schema) -> Schema:
    """Return a schema that can have further members, because draft 7 ignores those beside a reference."""
    return {"allOf": [schema]} if "$ref" in schema else schema
