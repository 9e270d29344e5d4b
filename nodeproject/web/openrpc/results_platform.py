"""The schemas of the results of methods with named params: those of all interfaces but the EVM chains'.

Numbers are decimal texts, except for a few that clients expect as JSON numbers.
"""

from collections.abc import Mapping
from typing import Any, Final

from nodeproject.web.openrpc.schemas import (
    BOOLEAN,
    COUNT,
    NOTHING,
    OBJECT,
    TEXT,
    Schema,
    array,
    described,
    mapping,
    nullable,
    one_of,
    pattern,
    record,
    ref,
    words,
)

ID: Final = ref("ID")
NODE_ID: Final = ref("NodeID")
DECIMAL: Final = ref("Decimal")
PLATFORM_ADDRESS: Final = ref("PlatformAddress")
_HEX: Final = ref("Data")
_PERCENT: Final = ref("Percent")
_TIME: Final = ref("Time")
_OWNER: Final = ref("Owner")
_ENCODING: Final = words("hex", "hexc", "hexnc", "json")

_STAKER: Final[Mapping[str, Schema]] = {
    "txID": ID, "startTime": DECIMAL, "endTime": DECIMAL, "weight": DECIMAL,
    "stakeAmount": DECIMAL, "nodeID": NODE_ID,
}  # fmt: skip
_SIGNER: Final = record({"publicKey": _HEX, "proofOfPossession": _HEX})

COMPONENTS: Final[Mapping[str, Schema]] = {
    "ID": pattern("^[1-9A-HJ-NP-Za-km-z]+$", "32 bytes in CB58"),
    "NodeID": pattern("^NodeID-[1-9A-HJ-NP-Za-km-z]+$", "`NodeID-` and 20 bytes in CB58"),
    "Decimal": pattern("^[0-9]+$", "a whole number, decimal; amounts are in the smallest unit"),
    "Percent": pattern("^[0-9]+\\.[0-9]{4}$", "a number with four decimals"),
    "PlatformAddress": pattern("^[PXC]-[a-z]+1[0-9a-z]+$", "the chain's letter, and an address in Bech32"),
    "Time": {"type": "string", "format": "date-time"},
    "Owner": record({
        "locktime": DECIMAL, "threshold": DECIMAL, "addresses": array(PLATFORM_ADDRESS),
    }),
    "Delegator": record(_STAKER, {"rewardOwner": _OWNER, "potentialReward": DECIMAL}),
    "Validator": record(
        {
            **_STAKER, "delegationFee": _PERCENT, "connected": BOOLEAN,
            "uptime": described(_PERCENT, "the percentage of time in which it was connected"),
        },
        {
            "rewardOwner": _OWNER, "validationRewardOwner": _OWNER,
            "delegationRewardOwner": _OWNER, "potentialReward": DECIMAL,
            "accruedDelegateeReward": DECIMAL, "signer": _SIGNER, "delegatorCount": DECIMAL,
            "delegatorWeight": DECIMAL,
            "validatorAuthority": described(
                _OWNER, "of an auto-renewed validator: the keys that may change the next two values"
            ),
            "nextPeriod": described(
                DECIMAL, "seconds of its next period; 0: it leaves at the end of the present one"
            ),
            "autoCompoundRewardShares": described(
                DECIMAL, "the part of its rewards that is restaked, in millionths"
            ),
            "delegators": array(ref("Delegator")),
        },
    ),
    "PendingValidator": record(
        {**_STAKER, "connected": BOOLEAN}, {"delegationFee": _PERCENT, "signer": _SIGNER}
    ),
    "HealthReport": record({
        "checks": described(
            mapping(
                record(
                    {"timestamp": _TIME, "duration": described(COUNT, "nanoseconds")},
                    {
                        "message": {}, "error": TEXT, "contiguousFailures": COUNT,
                        "timeOfFirstFailure": _TIME,
                    },
                )
            ),
            "the result of each check, by its name",
        ),
        "healthy": BOOLEAN,
    }),
}  # fmt: skip

_ISSUED: Final = record({"txID": ID, "changeAddr": PLATFORM_ADDRESS})
_HEIGHT: Final = record({"height": DECIMAL})
_STATUSES: Final = words("Processing", "Committed", "Aborted", "Dropped", "Unknown")
_AMOUNTS: Final = described(mapping(DECIMAL), "by asset")
_UTXOS: Final[Mapping[str, Schema]] = {
    "numFetched": DECIMAL, "utxos": array(_HEX), "encoding": _ENCODING,
}  # fmt: skip
_MEMBERS: Final = described(
    mapping(record({"publicKey": nullable(_HEX), "weight": DECIMAL})), "by node ID"
)


def _body(name: str) -> Schema:
    """Return the schema of an object's bytes as text, or of the object itself with the encoding `json`."""
    return record({name: one_of(_HEX, OBJECT), "encoding": _ENCODING})


_PLATFORM: Final[Mapping[str, Schema]] = {
    "getHeight": _HEIGHT,
    "getProposedHeight": _HEIGHT,
    "getTimestamp": record({"timestamp": _TIME}),
    "getBlock": _body("block"),
    "getBlockByHeight": _body("block"),
    "getBalance": record({
        "balance": DECIMAL, "unlocked": DECIMAL, "lockedStakeable": DECIMAL,
        "lockedNotStakeable": DECIMAL, "balances": _AMOUNTS, "unlockeds": _AMOUNTS,
        "lockedStakeables": _AMOUNTS, "lockedNotStakeables": _AMOUNTS,
        "utxoIDs": array(record({"txID": ID, "outputIndex": COUNT})),
    }),
    "getUTXOs": record({**_UTXOS, "endIndex": record({"address": PLATFORM_ADDRESS, "utxo": ID})}),
    "getRewardUTXOs": record(_UTXOS),
    "issueTx": record({"txID": ID}),
    "getTx": _body("tx"),
    "getTxStatus": record({"status": _STATUSES}, {"reason": TEXT}),
    "getCurrentValidators": record({"validators": array(ref("Validator"))}),
    "getPendingValidators": record({
        "validators": array(ref("PendingValidator")), "delegators": array(ref("Delegator")),
    }),
    "getValidatorsAt": one_of(record({"validators": _MEMBERS}), _MEMBERS),
    "getAllValidatorsAt": record({
        "validatorSets": described(
            mapping(record({
                "validators": array(
                    record({"publicKey": _HEX, "weight": DECIMAL, "nodeIDs": array(NODE_ID)})
                ),
                "totalWeight": DECIMAL,
            })),
            "by subnet",
        ),
    }),
    "sampleValidators": record({"validators": array(NODE_ID)}),
    "getL1Validator": record({
        "nodeID": NODE_ID, "weight": DECIMAL, "startTime": DECIMAL, "validationID": ID,
        "publicKey": _HEX, "remainingBalanceOwner": _OWNER, "deactivationOwner": _OWNER,
        "minNonce": DECIMAL, "balance": DECIMAL, "subnetID": ID, "height": DECIMAL,
    }),
    "aggregateSignatures": record({"signedMessage": _HEX}),
    "getStakingAssetID": record({"assetID": ID}),
    "getMinStake": record({"minValidatorStake": DECIMAL, "minDelegatorStake": DECIMAL}),
    "getTotalStake": record({"stake": DECIMAL, "weight": DECIMAL}),
    "getCurrentSupply": record({"supply": DECIMAL, "height": DECIMAL}),
    "getStake": record({
        "staked": DECIMAL, "stakeds": _AMOUNTS, "stakedOutputs": array(_HEX),
        "encoding": _ENCODING,
    }),
    "getMaxStakeAmount": record({"amount": DECIMAL}),
    "getSubnet": record({
        "isPermissioned": BOOLEAN, "controlKeys": array(PLATFORM_ADDRESS), "threshold": DECIMAL,
        "locktime": DECIMAL, "subnetTransformationTxID": ID, "conversionID": ID,
        "managerChainID": ID, "managerAddress": nullable(TEXT),
    }),
    "getSubnets": record({
        "subnets": array(
            record({"id": ID, "controlKeys": array(PLATFORM_ADDRESS), "threshold": DECIMAL})
        ),
    }),
    "getBlockchains": record({
        "blockchains": array(record({"id": ID, "name": TEXT, "subnetID": ID, "vmID": ID})),
    }),
    "getBlockchainStatus": record({
        "status": words("Validating", "Syncing", "Created", "Unknown"),
    }),
    "validatedBy": record({"subnetID": ID}),
    "validates": record({"blockchainIDs": array(ID)}),
    "getFeeConfig": record({
        "weights": array(COUNT), "maxCapacity": COUNT, "maxPerSecond": COUNT,
        "targetPerSecond": COUNT, "minPrice": COUNT, "excessConversionConstant": COUNT,
    }),
    "getFeeState": record({
        "capacity": COUNT, "excess": COUNT, "price": COUNT, "timestamp": _TIME,
    }),
    "getValidatorFeeConfig": record({
        "capacity": COUNT, "target": COUNT, "minPrice": COUNT, "excessConversionConstant": COUNT,
    }),
    "getValidatorFeeState": record({"excess": COUNT, "price": COUNT, "timestamp": _TIME}),
    "importKey": record({"address": PLATFORM_ADDRESS}),
    "exportKey": record({"privateKey": pattern("^PrivateKey-", "the private key in CB58")}),
    "createAddress": record({"address": PLATFORM_ADDRESS}),
    "listAddresses": record({"addresses": array(PLATFORM_ADDRESS)}),
    **dict.fromkeys(
        (
            "addValidator", "addDelegator", "addSubnetValidator", "createSubnet",
            "createBlockchain", "exportAVAX", "importAVAX", "convertSubnetToL1",
            "registerL1Validator", "setL1ValidatorWeight", "increaseL1ValidatorBalance",
            "disableL1Validator",
        ),
        _ISSUED,
    ),
}  # fmt: skip

_KEYSTORE: Final[Mapping[str, Schema]] = {
    "createUser": NOTHING,
    "deleteUser": NOTHING,
    "listUsers": record({"users": array(TEXT)}),
    "exportUser": record({"user": _HEX, "encoding": _ENCODING}),
    "importUser": NOTHING,
}

_PEER: Final[Mapping[str, Any]] = {
    "ip": TEXT, "publicIP": TEXT, "nodeID": NODE_ID, "version": TEXT, "upgradeTime": COUNT,
    "lastSent": _TIME, "lastReceived": _TIME, "observedUptime": DECIMAL,
    "trackedSubnets": array(ID), "supportedACPs": array(COUNT), "objectedACPs": array(COUNT),
    "benched": array(TEXT),
}  # fmt: skip

_OPINIONS: Final = record({
    "supportWeight": DECIMAL, "supporters": array(NODE_ID), "objectWeight": DECIMAL,
    "objectors": array(NODE_ID), "abstainWeight": DECIMAL,
})  # fmt: skip

_INFO: Final[Mapping[str, Schema]] = {
    "getNodeID": record({"nodeID": NODE_ID, "nodePOP": _SIGNER}),
    "getNodeVersion": record({
        "version": TEXT, "databaseVersion": TEXT, "rpcProtocolVersion": DECIMAL,
        "gitCommit": TEXT, "vmVersions": mapping(TEXT),
    }),
    "getNodeIP": record({"ip": described(TEXT, "host:port")}),
    "getNetworkID": record({"networkID": DECIMAL}),
    "getNetworkName": record({"networkName": TEXT}),
    "getTxFee": described(mapping(DECIMAL), "by transaction type"),
    "getVMs": record({"vms": mapping(array(TEXT)), "fxs": mapping(TEXT)}),
    "getBlockchainID": record({"blockchainID": ID}),
    "isBootstrapped": record({"isBootstrapped": BOOLEAN}),
    "peers": record({"numPeers": DECIMAL, "peers": array(record(_PEER))}),
    "uptime": record({
        "rewardingStakePercentage": _PERCENT, "weightedAveragePercentage": _PERCENT,
    }),
    "upgrades": described(
        {
            "type": "object",
            "properties": {
                "apricotPhase4MinPChainHeight": COUNT, "cortinaXChainStopVertexID": ID,
                "graniteEpochDuration": described(COUNT, "nanoseconds"),
            },
            "additionalProperties": _TIME,
        },
        "the time of each upgrade, and parameters of three of them",
    ),
    "acps": record({"acps": described(mapping(_OPINIONS), "by the number of the ACP")}),
}  # fmt: skip

_ISSUED_ATOMIC: Final = record({"txID": ID})
_AVAX: Final[Mapping[str, Schema]] = {
    "getUTXOs": record({
        "numFetched": DECIMAL, "utxos": array(_HEX),
        "endIndex": record({"address": PLATFORM_ADDRESS, "utxo": ID}), "encoding": _ENCODING,
    }),
    "issueTx": _ISSUED_ATOMIC,
    "getAtomicTxStatus": record(
        {"status": words("Unknown", "Dropped", "Processing", "Accepted")},
        {"blockHeight": described(DECIMAL, "the height of its block, if it is accepted")},
    ),
    "getAtomicTx": record(
        {"tx": described(TEXT, "its bytes, or with encoding `json` its JSON"), "encoding": _ENCODING},
        {"blockHeight": described(DECIMAL, "the height of its block, if it is accepted")},
    ),
    "version": record({"version": TEXT}),
    "importKey": record({"address": described(TEXT, "the key's account on the C-Chain")}),
    "exportKey": record({"privateKey": TEXT, "privateKeyHex": _HEX}),
    "import": _ISSUED_ATOMIC,
    "importAVAX": _ISSUED_ATOMIC,
    "export": _ISSUED_ATOMIC,
    "exportAVAX": _ISSUED_ATOMIC,
}  # fmt: skip
_AVM: Final[Mapping[str, Schema]] = {
    "getHeight": _HEIGHT,
    "getBlock": _body("block"),
    "getBlockByHeight": _body("block"),
    "issueTx": record({"txID": ID}),
    "getTx": _body("tx"),
    "getTxStatus": record({"status": words("Accepted", "Unknown")}),
    "getUTXOs": record({**_UTXOS, "endIndex": record({"address": PLATFORM_ADDRESS, "utxo": ID})}),
    "getAssetDescription": record({
        "assetID": ID, "name": TEXT, "symbol": TEXT, "denomination": DECIMAL,
    }),
    "getTxFee": record({"txFee": DECIMAL, "createAssetTxFee": DECIMAL}),
    "getBalance": record({
        "balance": DECIMAL, "utxoIDs": array(record({"txID": ID, "outputIndex": COUNT})),
    }),
    "getAllBalances": record({
        "balances": array(record({
            "asset": described(TEXT, "the asset's name in the genesis, or its ID"),
            "balance": DECIMAL,
        })),
    }),
    "createAddress": record({"address": PLATFORM_ADDRESS}),
    "listAddresses": record({"addresses": array(PLATFORM_ADDRESS)}),
    "importKey": record({"address": PLATFORM_ADDRESS}),
    "exportKey": record({"privateKey": TEXT}),
    **dict.fromkeys(
        ("send", "sendMultiple", "mint", "mintNFT", "sendNFT", "export", "exportAVAX"),
        record({"txID": ID, "changeAddr": PLATFORM_ADDRESS}),
    ),
    **dict.fromkeys(
        ("createAsset", "createFixedCapAsset", "createVariableCapAsset", "createNFTAsset"),
        record({"assetID": ID, "changeAddr": PLATFORM_ADDRESS}),
    ),
    **dict.fromkeys(("import", "importAVAX"), record({"txID": ID})),
    "getAddressTxs": record({
        "txIDs": array(ID), "cursor": described(DECIMAL, "the start of the next page"),
    }),
}  # fmt: skip

_CONTAINER: Final = record({
    "id": described(ID, "the ID of the outer block"), "bytes": _HEX, "timestamp": _TIME,
    "encoding": _ENCODING, "index": DECIMAL,
})  # fmt: skip
_INDEX: Final[Mapping[str, Schema]] = {
    "getLastAccepted": _CONTAINER,
    "getContainerByIndex": _CONTAINER,
    "getContainerByID": _CONTAINER,
    "getContainerRange": record({"containers": array(_CONTAINER)}),
    "getIndex": record({"index": DECIMAL}),
    "isAccepted": record({"isAccepted": BOOLEAN}),
}

RESULTS: Final[Mapping[str, Schema]] = {
    **{f"platform.{name}": schema for name, schema in _PLATFORM.items()},
    **{f"avax.{name}": schema for name, schema in _AVAX.items()},
    **{f"keystore.{name}": schema for name, schema in _KEYSTORE.items()},
    **{f"info.{name}": schema for name, schema in _INFO.items()},
    **{f"avm.{name}": schema for name, schema in _AVM.items()},
    **{f"index.{name}": schema for name, schema in _INDEX.items()},
    "wallet.issueTx": record({"txID": ID}),
    "proposervm.getProposedHeight": record({"height": DECIMAL}),
    "proposervm.getCurrentEpoch": record({
        "number": DECIMAL, "startTime": described(DECIMAL, "Unix seconds"), "pChainHeight": DECIMAL,
    }),
    "health.health": ref("HealthReport"),
    "health.readiness": ref("HealthReport"),
    "health.liveness": ref("HealthReport"),
}  # fmt: skip
