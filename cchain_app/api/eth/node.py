"""Information about the node and its chain: IDs, version, peers, syncing, coinbase, rules, and the pool as a whole."""

import platform
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from cchain_app.api import wire
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.config import (
    CODE_SIZE_LIMIT,
    DEPOSIT_CONTRACT,
    FRESH_PREV_RANDAO,
    MAX_CODE_SIZE,
    MEMORY_LIMIT,
    NO_BLOCK_GAS_LIMIT,
    NO_TRANSACTION_GAS_LIMIT,
    BlobParameters,
    ChainConfig,
    ExecutionLimits,
)
from cchain_app.forks import fork_id, precompiles, system_contracts
from cchain_app.precompiles.addresses import PrecompileKey
from cchain_app.precompiles.schedule import PrecompileConfig
from cchain_app.rules.coreth.genesis import chain_config as coreth_config
from cchain_app.selectors import blocks, development, pool
from cchain_app.settings import AUTO_NAME, PLAIN_NAME
from cchain_app.store import history
from cchain_app.txs.transaction import Transaction
from jsonrpc.errors import INTERNAL_ERROR, JsonRpcError
from primitives.evm import Address, Hash
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address, encode_data, encode_quantity
from primitives.product import NAME, VERSION

ANVIL: Final = "anvil/v1.7.1"
"""Name and version of the node whose development methods this node has."""


def chain_id(rpc: EvmRpc) -> str:
    """eth_chainId: the EVM chain ID."""
    return encode_quantity(rpc.chain.config.chain_id)


def network_version(rpc: EvmRpc) -> str:
    """net_version: the EVM chain ID in decimal."""
    return str(rpc.chain.config.chain_id)


def client_version(rpc: EvmRpc) -> str:
    """web3_clientVersion: name, version, system and language.

    Unspecified: Hardhat's helpers, Ape and other tools change the clock or the state of a chain only if the name begins
    with that of a node that they know. So it begins with Anvil's on a chain with development methods, unless
    NODE_CLIENT_NAME says otherwise. If the setting is another name, the name of this node follows it in brackets.
    """
    system = f"{platform.system().lower()}-{platform.machine()}"
    own = f"v{VERSION}/{system}/python{platform.python_version()}"
    name = rpc.chain.settings.client_name
    if name == AUTO_NAME and rpc.chain.has_development_methods:
        return f"{ANVIL}/{NAME.lower()}/{own}"
    if name in {AUTO_NAME, PLAIN_NAME}:
        return f"{NAME}/{own}"
    return f"{name} ({NAME}/{own})"


def sha3(data: bytes) -> str:
    """web3_sha3: the Keccak-256 hash of the data."""
    return encode_data(keccak256(data))


def syncing(rpc: EvmRpc) -> dict[str, str] | bool:
    """eth_syncing: false, or the progress while the chain catches up with other nodes."""
    progress = rpc.chain.progress
    if progress is None:
        return False
    return {
        "startingBlock": encode_quantity(progress.starting),
        "currentBlock": encode_quantity(progress.current),
        "highestBlock": encode_quantity(progress.highest),
    }


def accounts() -> list[str]:
    """eth_accounts: an empty list, because the node holds no keys; a development chain has accounts (`accounts`).

    Unspecified: a node without a keystore has no accounts, as geth without wallets.
    """
    return []


def coinbase(rpc: EvmRpc) -> str:
    """eth_coinbase: the account that receives the tips of the blocks that this node makes."""
    override = development.conditions(rpc.chain).coinbase
    return encode_data(rpc.chain.config.coinbase if override is None else override)


def mining() -> bool:
    """eth_mining: always false; blocks are produced, not mined."""
    return False


def hashrate() -> str:
    """eth_hashrate: always zero, because nothing is mined."""
    return encode_quantity(0)


def get_work() -> list[str]:
    """eth_getWork: always an error, as in Anvil, because nothing is mined by proof of work.

    Raises:
        JsonRpcError: -32603, always.
    """
    raise _not_implemented()


def submit_work(_nonce: bytes, _pow_hash: Hash, _mix_digest: Hash) -> bool:
    """eth_submitWork: always an error, as eth_getWork.

    Raises:
        JsonRpcError: -32603, always.
    """
    raise _not_implemented()


def submit_hashrate(_rate: object, _miner: Hash) -> bool:
    """eth_submitHashrate: always an error, as eth_getWork.

    Raises:
        JsonRpcError: -32603, always.
    """
    raise _not_implemented()


def _not_implemented() -> JsonRpcError:
    return JsonRpcError(INTERNAL_ERROR, "Not implemented")


def protocol_version() -> str:
    """eth_protocolVersion: the version of the eth protocol that clients expect to see.

    Unspecified: this node's peers do not speak that protocol; 65 is coreth's answer.
    """
    return encode_quantity(65)


def listening() -> bool:
    """net_listening: always true, as in coreth."""
    return True


def peer_count() -> str:
    """net_peerCount: always zero, as in coreth, because peers belong to the node, not to this chain."""
    return encode_quantity(0)


_BLOCK_KEYS: Final = (
    ("homestead", ("homesteadBlock",)),
    ("tangerine_whistle", ("eip150Block",)),
    ("spurious_dragon", ("eip155Block", "eip158Block")),
    ("byzantium", ("byzantiumBlock",)),
    ("constantinople", ("constantinopleBlock", "petersburgBlock")),
    ("istanbul", ("istanbulBlock",)),
    ("berlin", ("berlinBlock",)),
    ("london", ("londonBlock",)),
)


def chain_config(rpc: EvmRpc) -> dict[str, Any]:
    """eth_getChainConfig and eth_chainConfig: chain ID, schedule of forks, blob parameters.

    Unspecified: this node answers with the values that it read from the `config` of the genesis file, so keys that it
    does not know are missing. A chain of coreth has the config that coreth derives from the network's upgrades.
    """
    upgrades = rpc.chain.genesis.upgrades
    if upgrades is not None:
        return coreth_config(rpc.chain.config.chain_id, upgrades)
    config = rpc.chain.config
    schedule = config.schedule
    answer: dict[str, Any] = {"chainId": config.chain_id}
    for fork, keys in _BLOCK_KEYS:
        if fork in schedule.blocks:
            answer.update(dict.fromkeys(keys, schedule.blocks[fork]))
    if schedule.paris_block is not None:
        answer["mergeNetsplitBlock"] = schedule.paris_block
    if schedule.terminal_difficulty is not None:
        answer["terminalTotalDifficulty"] = schedule.terminal_difficulty
    answer.update({f"{fork}Time": first for fork, first in schedule.times.items()})
    if config.fresh_prev_randao:
        answer[FRESH_PREV_RANDAO] = True
    answer |= _limits(config.limits)
    for one in config.stateful.configs:
        if one.key == PrecompileKey.WARP:
            answer[one.key] = _warp_to_json(one)
    if schedule.petersburg_block is not None:
        answer["petersburgBlock"] = schedule.petersburg_block
    if config.deposit_contract != DEPOSIT_CONTRACT:
        answer["depositContractAddress"] = encode_data(config.deposit_contract)
    if config.blobs:
        answer["blobSchedule"] = {fork: _to_json(blobs) for fork, blobs in config.blobs.items()}
    return answer


def _warp_to_json(config: PrecompileConfig) -> dict[str, Any]:
    return {
        "blockTimestamp": config.timestamp,
        "quorumNumerator": config.quorum_numerator,
        "requirePrimaryNetworkSigners": config.require_primary_network_signers,
    }


def _limits(limits: ExecutionLimits) -> dict[str, Any]:
    """Return the keys of the limits that are not Ethereum's."""
    keys: dict[str, Any] = {}
    if not limits.transaction_gas:
        keys[NO_TRANSACTION_GAS_LIMIT] = True
    if not limits.block_gas:
        keys[NO_BLOCK_GAS_LIMIT] = True
    if limits.code_size != MAX_CODE_SIZE:
        keys[CODE_SIZE_LIMIT] = limits.code_size
    if limits.memory is not None:
        keys[MEMORY_LIMIT] = limits.memory
    return keys


def fork_config(rpc: EvmRpc) -> dict[str, Any]:
    """eth_config: the fork of the last accepted block, the next one and the last one that is scheduled.

    The format is that of EIP-7910. Unspecified: forks before Shanghai have no time and so no entry, as in geth, and
    Shanghai has no blobs. A fork that has been active since genesis has activation time 0.
    """
    config, head, genesis = (
        rpc.chain.config,
        blocks.head(rpc.chain),
        blocks.by_number(rpc.chain, rpc.chain.first_number),
    )
    assert genesis is not None, "a chain that has a head has a genesis"
    times = sorted(set(config.schedule.times.values()))
    begun = [time for time in times if time <= head.header.timestamp]
    coming = times[len(begun) :]
    return {
        "current": _fork(config, genesis, begun[-1]) if begun else None,
        "next": _fork(config, genesis, coming[0]) if coming else None,
        "last": _fork(config, genesis, coming[-1]) if coming else None,
    }


def capabilities(rpc: EvmRpc) -> dict[str, Any]:
    """eth_capabilities: the oldest block with state, proofs, transactions, logs, receipts and header.

    Unspecified: state is deleted block by block if NODE_HISTORY_STATE is set, and proofs are available for
    NODE_PROOF_WINDOW blocks below the head; all else is kept. A fork gets everything but proofs of older blocks from
    its remote node.
    """
    chain, head = rpc.chain, blocks.head(rpc.chain)
    first_state, kept = history.first_state(chain.db), chain.settings.history.kept_states
    first_proof = max(first_state, chain.first_number, head.number - chain.settings.proof_window)
    whole = _retention(0, None)
    return {
        "head": {"number": encode_quantity(head.number), "hash": encode_data(head.hash)},
        "state": _retention(first_state, kept or None),
        **dict.fromkeys(("tx", "logs", "receipts", "blocks"), whole),
        "stateproofs": _retention(
            first_proof, min(kept or chain.settings.proof_window, chain.settings.proof_window)
        ),
    }


def _retention(oldest: int, below_head: int | None) -> dict[str, Any]:
    """Return the oldest block of a resource, and the number of blocks kept: those below the head, and the head."""
    retention: dict[str, Any] = {"disabled": False, "oldestBlock": encode_quantity(oldest)}
    if below_head is not None:
        retention["deleteStrategy"] = {
            "type": "window",
            "retentionBlocks": encode_quantity(below_head + 1),
        }
    return retention


def _fork(config: ChainConfig, genesis: AcceptedBlock, time: int) -> dict[str, Any]:
    """Return the rules that become active at a time. All forks with a time come after London."""
    london, began = config.schedule.blocks["london"], genesis.header.timestamp
    fork, blobs = config.fork_at(london, time), config.blob_params_at(london, time)
    return {
        "activationTime": 0 if time <= began else time,
        "blobSchedule": None if blobs is None else _to_json(blobs),
        "chainId": encode_quantity(config.chain_id),
        "forkId": encode_data(fork_id(config.schedule, genesis.hash, began, time=time)),
        "precompiles": _addresses(precompiles(fork)),
        "systemContracts": _addresses(_system_contracts(config, fork)),
    }


def _system_contracts(config: ChainConfig, fork: str) -> Mapping[str, Address]:
    contracts = dict(system_contracts(fork))
    if "DEPOSIT_CONTRACT_ADDRESS" in contracts:
        contracts["DEPOSIT_CONTRACT_ADDRESS"] = config.deposit_contract
    return contracts


def _addresses(named: Mapping[str, Address]) -> dict[str, str]:
    return {name: encode_data(address) for name, address in named.items()}


def _to_json(blobs: BlobParameters) -> dict[str, int]:
    return {
        "target": blobs.target,
        "max": blobs.maximum,
        "baseFeeUpdateFraction": blobs.update_fraction,
    }


T = TypeVar("T")


def pool_status(rpc: EvmRpc) -> dict[str, str]:
    """txpool_status: the number of executable transactions, and the number of queued ones."""
    pending, queued = pool.counts(rpc.chain)
    return {"pending": encode_quantity(pending), "queued": encode_quantity(queued)}


def pool_content(rpc: EvmRpc) -> dict[str, Any]:
    """txpool_content: all transactions in the pool, by checksummed sender and decimal nonce."""
    waiting = pool.content(rpc.chain)
    return {
        "pending": _by_sender(waiting.pending, rpc.pool_transaction),
        "queued": _by_sender(waiting.queued, rpc.pool_transaction),
    }


def pool_content_from(rpc: EvmRpc, address: Address) -> dict[str, Any]:
    """txpool_contentFrom: the transactions of one sender in the pool, by decimal nonce."""
    waiting = pool.content(rpc.chain, [address])
    return {
        "pending": _by_nonce(waiting.pending.get(address, []), rpc.pool_transaction),
        "queued": _by_nonce(waiting.queued.get(address, []), rpc.pool_transaction),
    }


def inspect_pool(rpc: EvmRpc) -> dict[str, Any]:
    """txpool_inspect: all transactions in the pool, each as a line of text."""
    waiting = pool.content(rpc.chain)
    return {
        "pending": _by_sender(waiting.pending, wire.inspected),
        "queued": _by_sender(waiting.queued, wire.inspected),
    }


def _by_sender(
    waiting: Mapping[Address, list[Transaction]], show: Callable[[Transaction], T]
) -> dict[str, dict[str, T]]:
    return {checksum_address(sender): _by_nonce(listed, show) for sender, listed in waiting.items()}


def _by_nonce(listed: list[Transaction], show: Callable[[Transaction], T]) -> dict[str, T]:
    return {str(transaction.nonce): show(transaction) for transaction in listed}
