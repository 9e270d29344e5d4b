"""The rules of a chain as its genesis file's `config` states them: fork schedule, blobs, chain ID.

The file's other half, the first block and the allocations, is in `genesis`. Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from cchain_app.genesis_fields import (
    ROW_BITS,
    Document,
    GenesisFileError,
    parse_address,
    read_flag,
    read_number,
    read_object,
    read_optional_number,
)
from cchain_app.precompiles.addresses import PrecompileKey
from cchain_app.precompiles.parsing import parse_precompiles
from cchain_app.precompiles.schedule import NO_PRECOMPILES, PrecompileSchedule
from primitives import uint64
from primitives.evm import Address

FORKS = (
    "frontier", "homestead", "tangerine_whistle", "spurious_dragon", "byzantium", "constantinople",
    "istanbul", "berlin", "london", "paris", "shanghai", "cancun", "prague", "osaka", "bpo1", "bpo2",
)  # fmt: skip
"""Every rule set by name, oldest first. Forks that only moved the difficulty bomb are not here."""

CHOSEN_FORKS = FORKS[: FORKS.index("osaka") + 1]
"""Forks that a local chain can be configured to use from its first block on."""

_OTHER_NAMES = {
    "merge": "paris",
    "petersburg": "constantinople",
    "tangerine": "tangerinewhistle",
}

DEPOSIT_CONTRACT = Address(bytes.fromhex("00000000219ab540356cbb839cbe05303d7705fa"))
"""Mainnet's deposit contract, from whose logs deposits are read unless the file names another (EIP-6110)."""

BLACKHOLE = Address(bytes.fromhex("0100000000000000000000000000000000000000"))
"""Recipient of tips on a C-Chain: its private key is unknown."""

MIN_BASE_FEE = "minBaseFee"
"""Key of the file's `config`: wei, the floor of the base fee."""

FRESH_PREV_RANDAO = "freshPrevRandao"
"""Key of the file's `config`: whether PREVRANDAO differs from block to block."""

NO_TRANSACTION_GAS_LIMIT = "noTransactionGasLimit"
"""Key of the file's `config`: whether transactions may have more gas than EIP-7825 allows."""

NO_BLOCK_GAS_LIMIT = "noBlockGasLimit"
"""Key of the file's `config`: whether the transactions of a block may use more gas than its limit."""

CODE_SIZE_LIMIT = "codeSizeLimit"
"""Key of the file's `config`: bytes of code that a contract may have, in place of EIP-170's limit."""

MEMORY_LIMIT = "memoryLimit"
"""Key of the file's `config`: bytes of memory that nested calls may have together."""

MAX_TRANSACTION_GAS = 2**24
"""Gas limit of one transaction (EIP-7825, since Osaka)."""

MAX_CODE_SIZE = 24_576
"""Bytes of a contract's code (EIP-170, since Spurious Dragon); init code may have twice as many (EIP-3860)."""

_BLOCK_FORKS = (
    ("homestead", "homesteadBlock"),
    ("tangerine_whistle", "eip150Block"),
    ("spurious_dragon", "eip158Block"),
    ("byzantium", "byzantiumBlock"),
    ("constantinople", "constantinopleBlock"),
    ("istanbul", "istanbulBlock"),
    ("berlin", "berlinBlock"),
    ("london", "londonBlock"),
)
_PETERSBURG = ("petersburg", "petersburgBlock")
_ORDERED_BLOCK_FORKS = tuple(
    entry
    for fork in _BLOCK_FORKS
    for entry in ((fork, _PETERSBURG) if fork[0] == "constantinople" else (fork,))
)
"""The forks by block, in their required order, with Petersburg, which is part of Constantinople here."""
_TIME_FORKS = (
    ("shanghai", "shanghaiTime"),
    ("cancun", "cancunTime"),
    ("prague", "pragueTime"),
    ("osaka", "osakaTime"),
    ("bpo1", "bpo1Time"),
    ("bpo2", "bpo2Time"),
)
_QUIET_FORKS = (
    "daoForkBlock", "eip155Block", "petersburgBlock", "muirGlacierBlock", "arrowGlacierBlock",
    "grayGlacierBlock", "mergeNetsplitBlock",
)  # fmt: skip
"""Keys of forks that begin no rule set here; peers count them in the fork ID all the same."""
_QUIET_WITH = {
    "eip155Block": "spurious_dragon", "petersburgBlock": "constantinople", "muirGlacierBlock": "istanbul",
    "arrowGlacierBlock": "london", "grayGlacierBlock": "london",
}  # fmt: skip
"""The rule set with which each of these forks begins on a new chain."""
_TERMINAL_DIFFICULTY = "terminalTotalDifficulty"
_DEPOSITS = "depositContractAddress"
_OPTIONAL_FORKS = frozenset({"petersburg", "bpo1", "bpo2"})
_UNKNOWN_TIMES = ("bpo3Time", "bpo4Time", "bpo5Time", "amsterdamTime", "verkleTime", "ubtTime")


def fork_named(name: str) -> str | None:
    """Return the member of `CHOSEN_FORKS` that a name such as `Prague`, `spuriousDragon` or `merge` means, or None."""
    plain = name.casefold().replace("_", "").replace("-", "")
    meant = _OTHER_NAMES.get(plain, plain)
    return next((fork for fork in CHOSEN_FORKS if fork.replace("_", "") == meant), None)


class BlobParameters(NamedTuple):
    """How many blobs a block may have and how their price moves (EIP-7840)."""

    target: int
    """Blobs in a block at which the price does not change."""
    maximum: int
    """Blobs that fit into a block."""
    update_fraction: int
    """`baseFeeUpdateFraction`: the larger, the slower the price moves."""


_DEFAULT_BLOBS = {
    "cancun": BlobParameters(3, 6, 3338477),
    "prague": BlobParameters(6, 9, 5007716),
    "osaka": BlobParameters(6, 9, 5007716),
    "bpo1": BlobParameters(10, 15, 8346193),
    "bpo2": BlobParameters(14, 21, 11684671),
}


def at_least(fork: str, oldest: str) -> bool:
    """Return whether a rule set is the named one or a later one."""
    return FORKS.index(fork) >= FORKS.index(oldest)


class ExecutionLimits(NamedTuple):
    """Limits of execution in which a chain may differ from Ethereum; the defaults are Ethereum's."""

    transaction_gas: bool = True
    """Whether a transaction has at most `MAX_TRANSACTION_GAS`, since Osaka."""
    block_gas: bool = True
    """Whether the gas limits of a block's transactions must fit into that of the block."""
    code_size: int = MAX_CODE_SIZE
    """Bytes of code that a contract may have since Spurious Dragon."""
    memory: int | None = None
    """Bytes of memory that a call and all calls around it may have together; None: gas alone limits memory."""

    def of_transaction(self, fork: str) -> int:
        """Return the highest gas limit of a transaction by the rules of a fork, whatever the block's limit."""
        has_limit = self.transaction_gas and at_least(fork, "osaka")
        return MAX_TRANSACTION_GAS if has_limit else uint64.MAX

    def in_block(self, gas_limit: int) -> int:
        """Return the highest gas limit of a transaction in a block with this gas limit."""
        return gas_limit if self.block_gas else uint64.MAX

    @property
    def init_code_size(self) -> int:
        """Bytes of init code that a creation may have since Shanghai."""
        return 2 * self.code_size


ETHEREUM_LIMITS = ExecutionLimits()
"""The limits of chains whose file names no others."""


@dataclass(frozen=True, slots=True)
class ForkSchedule:
    """When each rule set begins."""

    blocks: Mapping[str, int]
    """First block of the forks up to London."""
    times: Mapping[str, int]
    """First timestamp, in Unix seconds, of the forks since Shanghai."""
    paris_block: int | None = None
    """`mergeNetsplitBlock`, when the file has it."""
    terminal_difficulty: int | None = None
    """`terminalTotalDifficulty`; zero means merged from the start, None means not by difficulty."""
    quiet_blocks: tuple[int, ...] = ()
    """First blocks of forks that begin no rule set here."""
    petersburg_block: int | None = None
    """`petersburgBlock`, when the file has it. Without it Petersburg begins with Constantinople."""

    @property
    def named_blocks(self) -> tuple[int, ...]:
        """The first block of each fork that the file names; several forks may begin at one block."""
        return (*self.blocks.values(), *self.quiet_blocks)

    @property
    def has_eip_1283(self) -> bool:
        """Whether there are blocks of Constantinople before Petersburg: they meter SSTORE by EIP-1283."""
        first, last = self.blocks.get("constantinople"), self.petersburg_block
        return first is not None and last is not None and first < last

    def fork_at(self, number: int, timestamp: int, difficulty: int = 0) -> str:
        """Return the name of the rule set of a block, one of `FORKS`.

        Unspecified: blocks of Constantinople before Petersburg count as Petersburg's, since no engine here has
        EIP-1283. If that makes a difference in a block, its gas differs and an import refuses it.

        The total difficulty is not known here. On a chain with a terminal total difficulty above zero, a block
        therefore counts as merged when its own difficulty is zero.

        Args:
            number: Height of the block.
            timestamp: Its time in Unix seconds.
            difficulty: Its difficulty; zero for every block since the Merge.
        """
        fork = "frontier"
        for name, first in self.blocks.items():
            if number >= first:
                fork = name
        if fork != "london":
            return fork
        if self._is_merged(number, difficulty):
            fork = "paris"
        for name, first in self.times.items():
            if timestamp >= first:
                fork = name
        return fork

    def _is_merged(self, number: int, difficulty: int) -> bool:
        if self.paris_block is not None and number >= self.paris_block:
            return True
        if self.terminal_difficulty is None:
            return False
        return self.terminal_difficulty == 0 or difficulty == 0


@dataclass(frozen=True, slots=True)
class ChainConfig:
    """The parameters of one chain; they are constant or change by schedule."""

    chain_id: int
    schedule: ForkSchedule
    blobs: Mapping[str, BlobParameters]
    """Blob parameters by the name of the fork that introduced them."""
    min_base_fee: int = 0
    """Wei; the floor under the EIP-1559 formula. A setting, unless the file has `minBaseFee`."""
    coinbase: Address = BLACKHOLE
    """Recipient of the tips. A setting, not part of the file."""
    free_base_fee: bool = False
    """Whether a base fee that a cheat set below the floor follows EIP-1559 from there; true on a
    development chain."""
    fresh_prev_randao: bool = False
    """Whether PREVRANDAO differs from block to block; the file's `freshPrevRandao`."""
    blob_transactions: bool = False
    """Whether blocks may contain blob transactions; true on a local network whose validators do not vote."""
    deposit_contract: Address = DEPOSIT_CONTRACT
    """The contract whose logs are deposits (EIP-6110); the file's `depositContractAddress`."""
    limits: ExecutionLimits = ETHEREUM_LIMITS
    """Limits of execution; the file's `noTransactionGasLimit`, `noBlockGasLimit`, `codeSizeLimit` and `memoryLimit`."""
    stateful: PrecompileSchedule = NO_PRECOMPILES
    """The stateful precompiles: which, since when, with which configs; of a chain with Ethereum's blocks the file's
    `warpConfig`."""

    def floor_after(self, base_fee: int | None) -> int:
        """Return the floor of the base fee of the block after one with this base fee, in wei."""
        below = base_fee is not None and base_fee < self.min_base_fee
        return 0 if self.free_base_fee and below else self.min_base_fee

    def fork_at(self, number: int, timestamp: int, difficulty: int = 0) -> str:
        """Return the name of the rule set of a block; see `ForkSchedule.fork_at`."""
        return self.schedule.fork_at(number, timestamp, difficulty)

    def may_change_after(self, number: int, timestamp: int) -> bool:
        """Return whether a block of this height would have other rules at a later time."""
        return self.fork_at(number, timestamp) != self.fork_at(number, uint64.MAX)

    def blob_params_at(self, number: int, timestamp: int) -> BlobParameters | None:
        """Return the blob parameters of a block, or None before Cancun."""
        fork = self.fork_at(number, timestamp)
        if not at_least(fork, "cancun"):
            return None
        since = FORKS[FORKS.index("cancun") : FORKS.index(fork) + 1]
        return next(self.blobs[name] for name in reversed(since) if name in self.blobs)

    def max_blobs_at(self, number: int, timestamp: int) -> int:
        """Return how many blobs a block may have; 0 before Cancun, and where there are no blob transactions."""
        params = self.blob_params_at(number, timestamp) if self.blob_transactions else None
        return 0 if params is None else params.maximum


def parse_config(
    document: Document, *, min_base_fee: int = 0, coinbase: Address = BLACKHOLE
) -> ChainConfig:
    """Return the chain's parameters from the `config` object of a genesis file.

    Unknown keys (Avalanche's apricot… to etna…, consensus engines) are ignored. Some known keys do not exist in
    geth: `minBaseFee`, `freshPrevRandao`, `noTransactionGasLimit`, `noBlockGasLimit`, `codeSizeLimit`,
    `memoryLimit`, and `warpConfig`, which is subnet-evm's. They are in the file because all nodes of a network must agree on them.
    Unspecified: geth refuses a blob fork without an entry in `blobSchedule`; files written before
    that key existed are taken here with Ethereum's own figures. Without `depositContractAddress`
    deposits are read from mainnet's contract, where geth reads them from the zero address.

    Raises:
        GenesisFileError: There is no chainId, a field is malformed, the forks are not in their order, or the file names a
            fork that no engine can execute.
    """
    schedule = _parse_schedule(document)
    floor = read_optional_number(document, MIN_BASE_FEE, "config.")
    return ChainConfig(
        chain_id=read_number(document, "chainId", "config.", bits=ROW_BITS),
        schedule=schedule,
        blobs=_parse_blobs(read_object(document, "blobSchedule", "config."), schedule),
        min_base_fee=min_base_fee if floor is None else floor,
        coinbase=coinbase,
        fresh_prev_randao=read_flag(document, FRESH_PREV_RANDAO, "config."),
        deposit_contract=_parse_deposit_contract(document),
        limits=_parse_limits(document),
        stateful=parse_precompiles(document, keys=(PrecompileKey.WARP,)),
    )


def _parse_limits(document: Document) -> ExecutionLimits:
    size = read_number(document, CODE_SIZE_LIMIT, "config.", default=MAX_CODE_SIZE, bits=62)
    return ExecutionLimits(
        transaction_gas=not read_flag(document, NO_TRANSACTION_GAS_LIMIT, "config."),
        block_gas=not read_flag(document, NO_BLOCK_GAS_LIMIT, "config."),
        code_size=size,
        memory=read_optional_number(document, MEMORY_LIMIT, "config.", bits=36),
    )


def _parse_deposit_contract(document: Document) -> Address:
    value = document.get(_DEPOSITS)
    return DEPOSIT_CONTRACT if value is None else parse_address(value, f"config.{_DEPOSITS}")


def with_fork_from_start(document: Document, fork: str) -> Document:
    """Return a `config` object with a rule set in force from block 0 on, and no later one.

    Args:
        document: Another `config` object; everything but its fork schedule is kept.
        fork: One of `CHOSEN_FORKS`.
    """
    keys = dict((*_BLOCK_FORKS, *_TIME_FORKS))
    keys |= {key: key for key in _QUIET_FORKS}
    last = FORKS.index(fork)
    begun = {key for name, key in keys.items() if name in FORKS and FORKS.index(name) <= last}
    begun |= {key for key, name in _QUIET_WITH.items() if FORKS.index(name) <= last}
    if at_least(fork, "paris"):
        begun.add(_TERMINAL_DIFFICULTY)
    dropped = {*keys.values(), _TERMINAL_DIFFICULTY}
    rest = {key: value for key, value in document.items() if key not in dropped}
    return {**rest, **dict.fromkeys(sorted(begun), 0)}


def _parse_schedule(document: Document) -> ForkSchedule:
    for key in _UNKNOWN_TIMES:
        if document.get(key) is not None:
            raise GenesisFileError(f"config.{key}: this fork is not supported")
    blocks = _read_starts(document, _BLOCK_FORKS)
    times = _read_starts(document, _TIME_FORKS)
    _check_order(_ORDERED_BLOCK_FORKS, _read_starts(document, _ORDERED_BLOCK_FORKS))
    _check_order(_TIME_FORKS, times)
    if times and "london" not in blocks:
        raise GenesisFileError(
            f"unsupported fork ordering: londonBlock not enabled, but {_key_of(next(iter(times)))} "
            f"enabled at timestamp {next(iter(times.values()))}"
        )
    return ForkSchedule(
        blocks=blocks,
        times=times,
        paris_block=read_optional_number(document, "mergeNetsplitBlock", "config."),
        terminal_difficulty=read_optional_number(
            document, _TERMINAL_DIFFICULTY, "config.", bits=256
        ),
        quiet_blocks=tuple(_read_starts(document, [(key, key) for key in _QUIET_FORKS]).values()),
        petersburg_block=read_optional_number(document, "petersburgBlock", "config."),
    )


def _read_starts(document: Document, forks: Iterable[tuple[str, str]]) -> dict[str, int]:
    starts = ((name, read_optional_number(document, key, "config.")) for name, key in forks)
    return {name: start for name, start in starts if start is not None}


def _check_order(forks: tuple[tuple[str, str], ...], starts: Mapping[str, int]) -> None:
    """Refuse forks with a gap or out of order, with geth's messages."""
    needed = [(name, key) for name, key in forks if name in starts or name not in _OPTIONAL_FORKS]
    unit = "timestamp" if forks is _TIME_FORKS else "block"
    for (earlier, earlier_key), (later, later_key) in pairwise(needed):
        if later not in starts:
            continue
        if earlier not in starts:
            raise GenesisFileError(
                f"unsupported fork ordering: {earlier_key} not enabled, but {later_key} "
                f"enabled at {unit} {starts[later]}"
            )
        if starts[earlier] > starts[later]:
            raise GenesisFileError(
                f"unsupported fork ordering: {earlier_key} enabled at {unit} {starts[earlier]}, "
                f"but {later_key} enabled at {unit} {starts[later]}"
            )


def _key_of(fork: str) -> str:
    return dict(_BLOCK_FORKS + _TIME_FORKS)[fork]


def _parse_blobs(document: Document, schedule: ForkSchedule) -> dict[str, BlobParameters]:
    blobs = {}
    for name, default in _DEFAULT_BLOBS.items():
        if name in document:
            entry = read_object(document, name, "config.blobSchedule.")
            blobs[name] = _parse_blob_entry(entry, name)
        elif name in schedule.times:
            blobs[name] = default
    return blobs


def _parse_blob_entry(entry: Document, name: str) -> BlobParameters:
    path = f"config.blobSchedule.{name}."
    parameters = BlobParameters(
        target=read_number(entry, "target", path),
        maximum=read_number(entry, "max", path),
        update_fraction=read_number(entry, "baseFeeUpdateFraction", path),
    )
    if parameters.target > parameters.maximum:
        raise GenesisFileError(f"{path}target: above max")
    if parameters.update_fraction == 0:
        raise GenesisFileError(f"{path}baseFeeUpdateFraction: must be defined and non-zero")
    return parameters
