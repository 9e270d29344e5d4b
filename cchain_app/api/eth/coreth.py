"""Methods with which coreth and subnet-evm extend those of Ethereum clients (coreth.md 14, etna.md 12.2)."""

from typing import Any, Final

from cchain_app.api.errors import failure, server_error
from cchain_app.api.eth.execution import Overrides, check_fees, make_context, make_message
from cchain_app.api.params import call as params_call
from cchain_app.api.params import values as params
from cchain_app.api.params.call import CallRequest
from cchain_app.api.params.values import BlockParam
from cchain_app.api.rpc import EvmRpc
from cchain_app.config import at_least
from cchain_app.evm.engine import CallRejected
from cchain_app.rules.coreth.phases import CorethPhase, phase_at
from cchain_app.rules.subnet_evm.config import SubnetEvmConfig
from cchain_app.selectors import blocks
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.errors import REVERTED
from primitives.hexadecimal import encode_data

_ETHEREUM_RULES: Final = (
    ("IsHomestead", "homestead"),
    ("IsEIP150", "tangerine_whistle"),
    ("IsEIP155", "spurious_dragon"),
    ("IsEIP158", "spurious_dragon"),
    ("IsByzantium", "byzantium"),
    ("IsConstantinople", "constantinople"),
    ("IsPetersburg", "constantinople"),
    ("IsIstanbul", "istanbul"),
    ("IsBerlin", "berlin"),
    ("IsLondon", "london"),
    ("IsMerge", "paris"),
    ("IsShanghai", "shanghai"),
    ("IsCancun", "cancun"),
    ("IsPrague", "prague"),
    ("IsOsaka", "osaka"),
)
"""The names of go-ethereum's rules, and the fork with which each begins here."""

_AVALANCHE_RULES: Final = (
    ("IsApricotPhase1", CorethPhase.APRICOT_1),
    ("IsApricotPhase2", CorethPhase.APRICOT_2),
    ("IsApricotPhase3", CorethPhase.APRICOT_3),
    ("IsApricotPhase4", CorethPhase.APRICOT_4),
    ("IsApricotPhase5", CorethPhase.APRICOT_5),
    ("IsApricotPhasePre6", CorethPhase.APRICOT_PRE_6),
    ("IsApricotPhase6", CorethPhase.APRICOT_6),
    ("IsApricotPhasePost6", CorethPhase.APRICOT_POST_6),
    ("IsBanff", CorethPhase.BANFF),
    ("IsCortina", CorethPhase.CORTINA),
    ("IsDurango", CorethPhase.DURANGO),
    ("IsEtna", CorethPhase.ETNA),
    ("IsFortuna", CorethPhase.FORTUNA),
    ("IsGranite", CorethPhase.GRANITE),
    ("IsHelicon", CorethPhase.HELICON),
)


def call_detailed(
    rpc: EvmRpc, request: CallRequest, block: BlockParam, accounts: Overrides | None
) -> dict[str, Any]:
    """eth_callDetailed: the output of a call, the gas that it used, and its failure.

    `gas` and `errCode` are numbers. `errCode` is 3 if the call reverted with data, else 0; `err` is empty on success.

    Raises:
        JsonRpcError: -32000, the call could not begin or took too long.
    """
    context = make_context(rpc, block, accounts, None)
    message = make_message(rpc, request, context.env)
    try:
        check_fees(request, context.env)
        result = context.logged("eth_callDetailed", message, lambda logged: logged.run(message))
    except CallRejected as refusal:
        raise server_error(f"err: {refusal} (supplied gas {message.gas})") from refusal
    failed = failure(result)
    has_reason = failed is not None and failed.code == REVERTED and bool(result.output)
    words = "" if failed is None else failed.message
    return {
        "gas": result.gas_used,
        "errCode": REVERTED if has_reason else 0,
        "err": words,
        "returnData": encode_data(result.output),
    }


def active_rules_at(rpc: EvmRpc, timestamp: int | None) -> dict[str, Any]:
    """eth_getActiveRulesAt: the rules and precompiles that are in force at a time, by default that of the head.

    Unspecified: only subnet-evm has this method, but Avalanche's SDK asks the C-Chain for it. The rules named after
    upgrades of Avalanche are those of the chain's kind: coreth's or subnet-evm's; there are none on a chain with
    Ethereum's blocks.
    """
    chain, head = rpc.chain, blocks.head(rpc.chain)
    time = head.header.timestamp if timestamp is None else timestamp
    fork = chain.config.fork_at(head.number, time)
    ethereum: dict[str, Any] = {"ChainID": chain.config.chain_id}
    ethereum |= {name: at_least(fork, first) for name, first in _ETHEREUM_RULES}
    return {
        "ethRules": ethereum,
        "avalancheRules": _avalanche_rules(rpc, time),
        "precompiles": {
            config.key: {"timestamp": config.timestamp}
            for config in (
                chain.config.stateful.config_at(key, time)
                for key in dict.fromkeys(one.key for one in chain.config.stateful.configs)
            )
            if config is not None
        },
    }


def _avalanche_rules(rpc: EvmRpc, time: int) -> dict[str, bool]:
    upgrades = rpc.chain.genesis.upgrades
    if upgrades is not None:
        phase = phase_at(upgrades, time)
        return {name: phase >= first for name, first in _AVALANCHE_RULES}
    config = rpc.chain.config
    if not isinstance(config, SubnetEvmConfig):
        return {}
    etna = config.shown["cancunTime"]
    begun = {
        "IsSubnetEVM": 0,
        "IsDurango": config.shown["shanghaiTime"],
        "IsEtna": etna,
        "IsFortuna": config.shown.get("fortunaTimestamp", etna),
        "IsGranite": config.granite,
        "IsHelicon": config.shown["heliconTimestamp"],
    }
    return {name: time >= first for name, first in begun.items()}


def add(methods: MethodRegistry, rpc: EvmRpc) -> None:
    """Register the methods."""
    block = Param("block", params.block_param)
    overrides = Param("stateOverrides", params_call.state_overrides, None)
    methods.add(
        "eth_callDetailed",
        rpc.bind(call_detailed),
        params=[Param("transaction", params_call.call), block, overrides],
        hot=True,
    )
    methods.add(
        "eth_getActiveRulesAt",
        rpc.bind(active_rules_at),
        params=[Param("timestamp", params.unix_time, None)],
        hot=True,
        computes=True,
    )
