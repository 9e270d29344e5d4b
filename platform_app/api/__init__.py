"""The RPC APIs of a P-Chain and their method tables: `platform.*` by group, `keystore.*`.

`rpc` has the objects that the handlers of one chain share, passed as their first argument; `registry` builds
the table.

`params` reads arguments and addresses, `wire` and `records` format results, and `errors` converts errors. As in
the reference, the call format requires no argument: a missing or null argument has a default, and each method
checks the arguments that it needs. Methods added with `add_kept`
answer on the event loop from cached results about the accepted state (`answers`).
"""

from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from platform_app.api import (
    chains,
    heights,
    l1,
    params,
    presence,
    transactions,
    utxos,
    validators,
)
from platform_app.api.keystore import add_key_methods
from platform_app.api.l1_wallet import add_l1_wallet_methods
from platform_app.api.rpc import Methods, PlatformRpc
from platform_app.api.wallet import add_wallet_methods
from primitives.checksummed import TextEncoding
from primitives.ids import EMPTY_ID, EMPTY_NODE_ID, PRIMARY_NETWORK_ID
from primitives.warp import QUORUM_NUMERATOR

__all__ = ["PlatformRpc", "registry"]

STATUS_SECONDS = 0.1
"""Seconds for which the status of a blockchain is cached: a node begins to run one without a block of its own."""

_SUBNET = Param("subnetID", params.identifier, PRIMARY_NETWORK_ID)
_NODES = Param("nodeIDs", params.few_of("node IDs", params.node_id, EMPTY_NODE_ID), ())
_ADDRESSES = Param("addresses", params.list_of(params.text, ""), ())
_ENCODING = Param("encoding", params.encoding, TextEncoding.HEX)
_TX = Param("txID", params.identifier, EMPTY_ID)
_HEIGHT = Param("height", params.height, 0)


def registry(rpc: PlatformRpc) -> MethodRegistry:
    """Return the `platform.*` methods of a chain."""
    methods = Methods(rpc)
    for add in (_chain, _funds, _transactions, _validators, _staking, _subnets, _fees):
        add(methods)
    add_key_methods(methods)
    add_wallet_methods(methods)
    add_l1_wallet_methods(methods)
    return methods.registry


def _chain(methods: Methods) -> None:
    methods.add_kept("platform.getHeight", chains.get_height)
    methods.add("platform.getProposedHeight", chains.get_proposed_height)
    methods.add_kept("platform.getTimestamp", chains.get_timestamp)
    methods.add_kept(
        "platform.getBlock",
        heights.get_block,
        params=[Param("blockID", params.identifier, EMPTY_ID), _ENCODING],
    )
    methods.add_kept(
        "platform.getBlockByHeight",
        heights.get_block_by_height,
        params=[Param("height", params.uint64, 0), _ENCODING],
    )


def _funds(methods: Methods) -> None:
    methods.add_kept(
        "platform.getBalance",
        utxos.get_balance,
        params=[Param("address", params.text, ""), _ADDRESSES],
    )
    methods.add_kept(
        "platform.getUTXOs",
        utxos.get_utxos,
        params=[
            _ADDRESSES,
            Param("sourceChain", params.text, ""),
            Param("limit", params.uint32, 0),
            Param("startIndex", params.start_index, params.StartIndex()),
            _ENCODING,
        ],
    )
    methods.add_kept(
        "platform.getRewardUTXOs", validators.get_reward_utxos, params=[_TX, _ENCODING]
    )


def _transactions(methods: Methods) -> None:
    methods.add_vectorized(
        "platform.issueTx",
        transactions.issue_txs,
        params=[Param("tx", params.text, ""), Param("encoding", params.encoding, None)],
    )
    methods.add_kept("platform.getTx", transactions.get_tx, params=[_TX, _ENCODING])
    methods.add("platform.getTxStatus", transactions.get_tx_status, params=[_TX])


def _validators(methods: Methods) -> None:
    methods.add_kept(
        "platform.getCurrentValidators",
        validators.get_current_validators,
        params=[_SUBNET, _NODES],
        seconds=presence.SECONDS,
    )
    methods.add_kept(
        "platform.getPendingValidators",
        validators.get_pending_validators,
        params=[_SUBNET, _NODES],
        seconds=presence.SECONDS,
    )
    methods.add("platform.getValidatorsAt", heights.get_validators_at, params=[_HEIGHT, _SUBNET])
    methods.add("platform.getAllValidatorsAt", heights.get_all_validators_at, params=[_HEIGHT])
    methods.add(
        "platform.sampleValidators",
        heights.sample_validators,
        params=[Param("size", params.uint16, 0), _SUBNET],
    )
    methods.add(
        "platform.getL1Validator",
        l1.get_l1_validator,
        params=[Param("validationID", params.identifier, EMPTY_ID)],
    )
    methods.add(
        "platform.aggregateSignatures",
        l1.aggregate_signatures,
        params=[
            Param("message", params.data, b""),
            Param("justification", params.data, b""),
            Param("signingSubnetID", params.identifier, PRIMARY_NETWORK_ID),
            Param("quorumPercentage", params.uint32, QUORUM_NUMERATOR),
            Param("pChainHeight", params.uint64, None),
        ],
    )


def _staking(methods: Methods) -> None:
    methods.add_kept(
        "platform.getStakingAssetID", validators.get_staking_asset_id, params=[_SUBNET]
    )
    methods.add("platform.getMinStake", validators.get_min_stake, params=[_SUBNET], hot=True)
    methods.add_kept("platform.getTotalStake", validators.get_total_stake, params=[_SUBNET])
    methods.add_kept("platform.getCurrentSupply", validators.get_current_supply, params=[_SUBNET])
    methods.add_kept(
        "platform.getStake",
        validators.get_stake,
        params=[
            _ADDRESSES,
            Param("validatorsOnly", params.boolean, default=False),
            _ENCODING,
        ],
    )
    methods.add(
        "platform.getMaxStakeAmount",
        validators.get_max_stake_amount,
        params=[
            _SUBNET,
            Param("nodeID", params.node_id, EMPTY_NODE_ID),
            Param("startTime", params.uint64, 0),
            Param("endTime", params.uint64, 0),
        ],
    )


def _subnets(methods: Methods) -> None:
    blockchain = [Param("blockchainID", params.identifier, PRIMARY_NETWORK_ID)]
    methods.add_kept("platform.getSubnet", chains.get_subnet, params=[_SUBNET])
    methods.add_kept(
        "platform.getSubnets",
        chains.get_subnets,
        params=[Param("ids", params.few_of("IDs", params.identifier, EMPTY_ID), ())],
    )
    methods.add_kept("platform.getBlockchains", chains.get_blockchains)
    methods.add_kept(
        "platform.getBlockchainStatus",
        chains.get_blockchain_status,
        params=[Param("blockchainID", params.text, "")],
        seconds=STATUS_SECONDS,
    )
    methods.add_kept("platform.validatedBy", chains.validated_by, params=blockchain)
    methods.add_kept("platform.validates", chains.validates, params=[_SUBNET])


def _fees(methods: Methods) -> None:
    methods.add("platform.getFeeConfig", transactions.get_fee_config, hot=True)
    methods.add_kept("platform.getFeeState", transactions.get_fee_state)
    methods.add("platform.getValidatorFeeConfig", transactions.get_validator_fee_config, hot=True)
    methods.add_kept("platform.getValidatorFeeState", transactions.get_validator_fee_state)
