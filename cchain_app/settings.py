"""The settings of an EVM chain and its RPC methods, in groups by subject."""

import re
from dataclasses import dataclass
from typing import Final

from cchain_app.config import CHOSEN_FORKS, fork_named
from cchain_app.feemarket import MIN_GAS_LIMIT
from cchain_app.forking.settings import ForkSettings
from primitives.networks import LOCAL
from primitives.settings import TextFormat, flag, group

FEWEST_STATES: Final = 128
"""States that are always kept: running calls need the head's, and processes that fall behind need time to catch up."""


def _client_name(text: str) -> None:
    if not re.fullmatch(r"[!-~]{1,64}", text):
        raise ValueError


def _hardfork(text: str) -> None:
    if fork_named(text) is None:
        raise ValueError


def _gas_limit(number: int) -> None:
    if not MIN_GAS_LIMIT <= number < 2**63:
        raise ValueError


NO_CODE_LIMIT: Final = 2**48
"""Bytes of code that no contract can have."""

MOST_MEMORY: Final = 2**36 - 1
"""Highest limit of memory, in bytes; geth computes no price for twice as much."""

AUTO_NAME: Final = "auto"
"""The client name that depends on the chain."""

PLAIN_NAME: Final = "plain"
"""This node's own client name."""

HARDFORK: Final = TextFormat(f"one of {', '.join(CHOSEN_FORKS)}", _hardfork)
GAS_LIMIT: Final = TextFormat(f"0, or a whole number from {MIN_GAS_LIMIT} to 2**63 - 1", _gas_limit)
CLIENT_NAME: Final = TextFormat("a name without blanks, of 64 characters at most", _client_name)


def _words(number: int) -> None:
    if number not in {0, 12, 15, 18, 21, 24}:
        raise ValueError


WORDS: Final = TextFormat("0, 12, 15, 18, 21 or 24", _words)


@dataclass(frozen=True, slots=True)
class LocalChainSettings:
    """The start of a local chain: the funded accounts, for which the node signs, and the rules of the first block."""

    accounts: int = flag(
        10,
        "Number of accounts of NODE_MNEMONIC that a local network funds and for which the embedded profile signs.",
        least=0,
        most=1000,
        options=("-a",),
    )
    mnemonic: str = flag(
        "test test test test test test test test test test test junk",
        "Mnemonic (BIP-39) from which the keys of these accounts are derived. With any other than the public "
        "default, the keys do not sign for web pages (NODE_ALLOWED_ORIGINS).",
        secret=True,
        options=("-m",),
    )
    derivation_path: str = flag(
        "m/44'/60'/0'/0/",
        "Derivation path of these accounts (BIP-32); the account's number is appended.",
    )
    mnemonic_random: int = flag(
        0,
        "Number of words of a random mnemonic that takes the place of NODE_MNEMONIC: 12, 15, 18, 21 or 24. It is made at "
        "the first start and kept in the file `mnemonic` of the data directory. 0: none.",
        form=WORDS,
        bare="12",
    )
    mnemonic_seed: int = flag(
        -1,
        "Number whose mnemonic of 12 words takes the place of NODE_MNEMONIC, the same as Anvil's; anybody can find it out. -1: "
        "none.",
        least=-1,
        most=2**64 - 1,
        options=("--mnemonic-seed-unsafe",),
    )
    balance: int = flag(
        10_000,
        "Coins that each of these accounts has at the beginning of a local network.",
        least=0,
        most=10**15,
    )
    hardfork: str = flag(
        "",
        "Hard fork whose rules apply from the first block of a new local chain, from `frontier` to `osaka`. "
        "Default: `osaka`.",
        form=HARDFORK,
        options=(),
    )
    gas_limit: int = flag(
        0,
        "Gas limit of the blocks of a new local chain; 0: the genesis file's.",
        form=GAS_LIMIT,
        options=(),
    )
    base_fee: int = flag(
        -1,
        "Base fee of the first block of a new local chain, in wei per gas; if it is below NODE_MIN_BASE_FEE, "
        "it is also the chain's minimum. -1: the genesis file's.",
        least=-1,
        options=("--block-base-fee-per-gas",),
    )
    timestamp: int = flag(
        0,
        "Time of the first block of a new local chain, in Unix seconds, from which the C-Chain's clock continues. 0: the "
        "time of the first start.",
        least=0,
        most=2**63 - 1,
        options=(),
    )
    genesis_number: int = flag(
        0,
        "Number of the first block of a new local chain, if this node alone makes its blocks.",
        least=0,
        most=2**53,
        options=("--number",),
    )
    create2_deployer: bool = flag(
        True,
        "Whether a new local chain has the deterministic CREATE2 deployer.",
        constants={"--disable-default-create2-deployer": "false", "--no-create2": "false"},
    )
    tx_gas_limit: bool = flag(
        False,
        "Whether a transaction of a new local chain has at most 16,777,216 gas since Osaka (EIP-7825).",
        options=("--enable-tx-gas-limit",),
    )
    block_gas_limit: bool = flag(
        True,
        "Whether the transactions of a block of a new local chain must fit into its gas limit.",
        constants={"--disable-block-gas-limit": "false"},
    )
    code_size_limit: int = flag(
        0,
        "Bytes of code that a contract of a new local chain may have; init code may have twice as many. 0: 24,576 (EIP-170).",
        least=0,
        most=NO_CODE_LIMIT,
        constants={"--disable-code-size-limit": str(NO_CODE_LIMIT)},
        options=(),
    )
    memory_limit: int = flag(
        0,
        "Bytes of memory that a call of a new local chain and all calls around it may have together; a call that needs more "
        "fails and uses all its gas. 0: gas alone limits memory.",
        least=0,
        most=MOST_MEMORY,
        options=(),
    )
    warp: bool = flag(
        False,
        "Whether the C-Chain of a new local network has the precompile of warp messages at "
        "`0x0200000000000000000000000000000000000005`, which sends messages to other chains and reads theirs.",
    )


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """Limits of the history that a node keeps besides the chain; by default all is kept."""

    state: int = flag(
        0,
        "Blocks below the head whose states are kept, at least 128; older calls, proofs and traces fail, and "
        "older snapshots cannot be reverted to. 0: all.",
        least=0,
        options=("--max-persisted-states",),
    )
    calls: int = flag(
        0,
        "Blocks below the head whose calls inside of transactions (NODE_TRACE_INDEX) are kept as rows; "
        "searches in older blocks execute these again or find less. 0: all.",
        least=0,
    )

    blobs: int = flag(
        4096 * 32 * 12,
        "Seconds for which the blobs of transactions are kept after their arrival; 0: for ever. The default is the 4096 "
        "epochs for which Ethereum keeps them.",
        least=0,
    )

    @property
    def kept_states(self) -> int:
        """Blocks below the head whose states are kept; 0: all."""
        return max(self.state, FEWEST_STATES) if self.state else 0


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """Limits of the pool (docs/protocol/cchain.md, section 9), most of them with geth's defaults."""

    account_slots: int = flag(16, "Executable transactions guaranteed to each account.", least=1)
    account_queue: int = flag(
        -1,
        "Maximum transactions of an account behind a nonce gap. -1: 64, on a development chain as many as the"
        " pool.",
        least=-1,
    )
    slots: int = flag(
        5120, "Maximum executable transactions in the pool (slots of 32 KiB).", least=1
    )
    queue: int = flag(1024, "Maximum transactions behind nonce gaps in the pool.", least=0)
    lifetime: int = flag(10_800, "Seconds after which a pending transaction expires.", least=1)
    min_tip: int = flag(0, "Minimum tip that the pool accepts, in wei per gas.", least=0)
    unprotected: bool = flag(
        False, "Accept legacy transactions without replay protection (EIP-155)."
    )
    balance_checks: bool = flag(
        True,
        "Refuse transactions that their sender cannot pay. Without it they are dropped when a block is made, if the "
        "sender still cannot pay.",
        constants={"--disable-pool-balance-checks": "false"},
    )


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Limits of calls and of submitted transactions."""

    gas_cap: int = flag(
        -1,
        "Maximum gas of eth_call and eth_estimateGas; 0: unlimited. -1: 50,000,000, on a development chain at"
        " least a block's gas limit.",
        least=-1,
    )
    call_timeout: float = flag(5.0, "Seconds after which a call is aborted.", least=0.01)
    tx_fee_cap: float = flag(
        -1.0,
        "Maximum fee of a submitted transaction, in coins; 0: unlimited. -1: 100, on a development chain "
        "unlimited.",
        least=-1,
    )


@dataclass(frozen=True, slots=True)
class PriceOptionSettings:
    """The fees that eth_suggestPriceOptions suggests; coreth has the same settings."""

    slow_fee_percentage: int = flag(
        95, "Tip of the slow option, in percent of the normal one.", least=0, most=10_000
    )
    fast_fee_percentage: int = flag(
        105, "Tip of the fast option, in percent of the suggested tip.", least=0, most=10_000
    )
    max_tip: int = flag(
        20_000_000_000,
        "Highest tip of the slow and the normal option, in wei per gas.",
        least=0,
        most=2**64 - 1,
    )


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """Limits of traces."""

    timeout: float = flag(
        30.0,
        "Maximum seconds for the trace of one transaction; a client that names no timeout gets 5.",
        least=0.01,
    )
    bytes: int = flag(
        32_000_000,
        "Maximum size of an answer with traces, in bytes; one client may use a quarter of NODE_REQUEST_MEMORY"
        " for it.",
        least=1,
    )
    calls: int = flag(4, "Tracing calls that run concurrently; the same number may wait.", least=1)
    cache: int = flag(
        64_000_000,
        "Bytes of answers with block traces that each process keeps in memory.",
        least=0,
    )
    index: str = flag(
        "local",
        "Whether calls inside of transactions are stored as rows, after their blocks, so that they can be "
        "searched by address. `local`: only on the local network.",
        choices=("local", "on", "off"),
    )


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """Sizes of the caches of each process for accounts, storage slots and blocks."""

    accounts: int = flag(
        100_000, "Accounts, and as many trie nodes, in each process's memory.", least=0
    )
    slots: int = flag(500_000, "Slots, and as many trie nodes, in each process's memory.", least=0)
    blocks: int = flag(
        256,
        "Blocks kept in the memory of each process.",
        least=0,
        options=("--transaction-block-keeper",),
    )


@dataclass(frozen=True, slots=True)
class WebSocketSettings:
    """Limits of WebSocket connections."""

    message_limit: int = flag(
        32 * 1024 * 1024, "Maximum size of a WebSocket message, in bytes.", least=1
    )
    subscriptions: int = flag(1000, "Maximum subscriptions of one connection.", least=0)
    connections: int = flag(
        10_000,
        "Maximum WebSocket connections of one process; one client may have at most three quarters of them.",
        least=0,
    )


@dataclass(frozen=True, slots=True)
class EvmSettings:
    """The settings of an EVM chain."""

    local: LocalChainSettings = group(LocalChainSettings)
    fork: ForkSettings = group(ForkSettings, "fork_")
    history: HistorySettings = group(HistorySettings, "history_")
    pool: PoolSettings = group(PoolSettings, "pool_")
    rpc: CallSettings = group(CallSettings, "rpc_")
    price_options: PriceOptionSettings = group(PriceOptionSettings, "price_options_")
    trace: TraceSettings = group(TraceSettings, "trace_")
    cache: CacheSettings = group(CacheSettings, "cache_")
    ws: WebSocketSettings = group(WebSocketSettings, "ws_")

    genesis: str = flag(
        "",
        "The C-Chain's genesis file (geth's JSON). Default: the network's built-in genesis.",
        options=("--init",),
    )
    chain_id: int = flag(
        0,
        "EVM chain ID that overrides the genesis file's, unless 0.",
        least=0,
        most=2**63 - 1,
        options=(),
    )
    client_name: str = flag(
        AUTO_NAME,
        "The beginning of web3_clientVersion. `auto`: a chain with development methods begins with Anvil's name and "
        "version, because tools use these methods only of nodes that they know; `plain`: this node's own name; or a "
        "name that a tool expects: `HardhatNetwork/3`.",
        form=CLIENT_NAME,
        options=(),
    )
    engine: str = flag(
        "auto",
        "EVM engine; `auto` uses `native` if it is built.",
        choices=("auto", "native", "reference"),
    )
    log_transactions: str = flag(
        "local",
        "Whether to log each transaction of the C-Chain, the output of console.log, and calls. `local`: only "
        "on the local network.",
        choices=("local", "on", "off"),
    )
    mining: str = flag(
        "auto",
        "When the C-Chain produces blocks: on a transaction's arrival, by the clock, on command, or (`mixed`) on arrival "
        "and by the clock.",
        choices=("auto", "interval", "manual", "mixed"),
        constants={"--no-mining": "manual", "--no-mine": "manual", "--mixed-mining": "mixed"},
        options=(),
    )
    order: str = flag(
        "fees",
        "Order in which a block takes transactions of different senders from the pool: by the tips that they pay, or "
        "(`fifo`) by their arrival.",
        choices=("fees", "fifo"),
        options=(),
    )
    max_transactions: int = flag(
        0,
        "Maximum transactions in a block that this node makes; 0: unlimited.",
        least=0,
        options=(),
    )
    gas_price: int = flag(
        -1,
        "Gas price in wei that eth_gasPrice returns and that the node fills in, on a local chain before London. -1: the "
        "tips of recent blocks decide.",
        least=-1,
        options=(),
    )
    suggest_tip: bool = flag(
        True,
        "Whether the suggested tip is at least 1 wei and follows recent blocks; false: it is 0.",
        constants={"--disable-min-priority-fee": "false", "--no-priority-fee": "false"},
    )
    auto_impersonate: bool = flag(
        False,
        "Whether each start lets every account of a development chain send without its key "
        "(anvil_autoImpersonateAccount).",
        options=("--auto-unlock",),
    )
    console_log: bool = flag(
        True,
        "Whether the log of transactions and calls shows the output of console.log.",
        constants={"--disable-console-log": "false"},
    )
    print_traces: bool = flag(
        False,
        "Whether the log of transactions and calls shows the calls in each transaction, eth_call and eth_estimateGas as a "
        "tree.",
        options=("--enable-trace-printing",),
    )
    development: bool = flag(
        True,
        "Whether development methods (evm_, anvil_, hardhat_, signing for accounts) are available; only in the embedded "
        "profile, on the local network, and if this node decides alone.",
    )
    block_interval: float = flag(
        2.0,
        "Seconds between blocks when NODE_MINING is `interval` or `mixed`.",
        least=0.05,
        options=("--block-time", "--blockTime", "-b"),
        implies={"mining": "interval|mixed"},
    )
    min_base_fee: int = flag(
        1_000_000_000,
        "Minimum base fee, in wei per gas, if the genesis names none; must be the same on all nodes of a "
        "network.",
        least=0,
    )
    gas_target: int = flag(
        -1,
        "Gas per second for which this node votes in the blocks that it makes on the C-Chain of a network of avalanchego "
        "nodes (ACP-176). -1: it leaves the target as it is.",
        least=-1,
        most=2**64 - 1,
    )
    min_delay_target: int = flag(
        -1,
        "Minimum time between blocks for which this node votes in the same way, in milliseconds (ACP-226). -1: it leaves "
        "the time as it is.",
        least=-1,
        most=2**64 - 1,
    )
    logs_block_range: int = flag(
        0, "Maximum blocks that eth_getLogs searches; 0: unlimited.", least=0
    )
    logs_results: int = flag(
        10_000, "Maximum logs that eth_getLogs returns; 0: unlimited.", least=0
    )
    proof_window: int = flag(
        4_096,
        "Maximum blocks below the head for which eth_getProof answers. For these the trie's earlier nodes are stored, "
        "at most about 2 kB for each transfer.",
        least=0,
    )
    filters: int = flag(
        10_000,
        "Maximum filters of all clients, where each 4 KiB count as one. The client with the most filters "
        "loses its least recently polled one.",
        least=1,
    )
    filter_lifetime: int = flag(
        300, "Seconds after which a filter is dropped if it is not polled.", least=1
    )

    slots_in_an_epoch: int = flag(
        0,
        "Blocks that `safe` is behind the head; `finalized` is twice as many behind it. 0: both are the last accepted "
        "block.",
        least=0,
        options=(),
    )

    @property
    def mines_by_clock(self) -> bool:
        """Whether blocks are made at an interval."""
        return self.mining in {"interval", "mixed"}

    def indexes_calls(self, network_id: int) -> bool:
        """Return whether the calls inside of transactions are stored as rows."""
        return self.trace.index == "on" or (self.trace.index == "local" and network_id == LOCAL)

    def logs_transactions(self, network_id: int) -> bool:
        """Return whether each transaction and call is logged."""
        return self.log_transactions == "on" or (
            self.log_transactions == "local" and network_id == LOCAL
        )
