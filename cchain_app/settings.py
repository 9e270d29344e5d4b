"""The node's settings that an EVM chain uses; `NodeSettings` documents each of them."""

from pathlib import Path
from typing import Protocol


class EvmSettings(Protocol):
    """Settings of a node, as far as a chain and its entry points need them."""

    @property
    def network_id(self) -> int:
        """The network's number."""

    @property
    def profile(self) -> str:
        """`embedded` or `production`."""

    @property
    def directory(self) -> Path:
        """The data directory."""

    @property
    def genesis(self) -> str:
        """The genesis file's path; empty: the network's own."""

    @property
    def hardfork(self) -> str:
        """The hard fork with which a new local chain begins; empty: the file's."""

    @property
    def gas_limit(self) -> int:
        """Gas limit of a new local chain; 0: the file's."""

    @property
    def base_fee(self) -> int:
        """Base fee of a new local chain's first block, in wei for each gas; -1: the file's."""

    @property
    def client_name(self) -> str:
        """The start of the client version; empty: this node's own name."""

    @property
    def has_built_in_network(self) -> bool:
        """Whether the network's genesis comes with the node."""

    @property
    def chain_id(self) -> int:
        """Overrides the EVM chain ID of the genesis file when not 0."""

    @property
    def min_base_fee(self) -> int:
        """Floor of the base fee in wei for each gas, where the genesis names none."""

    @property
    def engine(self) -> str:
        """Which EVM engine: `auto`, `native` or `reference`."""

    @property
    def accounts(self) -> int:
        """Accounts of the mnemonic that a local network funds and its node signs for."""

    @property
    def mnemonic(self) -> str:
        """BIP-39 words from which the keys of these accounts are derived."""

    @property
    def derivation_path(self) -> str:
        """The BIP-32 path to these keys, without an account's number."""

    @property
    def balance(self) -> int:
        """Coins of each of these accounts when the network begins."""

    @property
    def mining(self) -> str:
        """When blocks are made: `auto`, `interval` or `manual`."""

    @property
    def block_interval(self) -> float:
        """Seconds between blocks in interval mode."""

    @property
    def bootstrap(self) -> tuple[str, ...]:
        """Nodes from which this one downloads the chains."""

    @property
    def development(self) -> bool:
        """Whether development methods exist if the network is local and this node alone decides."""

    @property
    def fork_url(self) -> tuple[str, ...]:
        """URLs of the remote node of a fork."""

    @property
    def fork_block_number(self) -> str:
        """The height of the fork block; empty: the latest block."""

    @property
    def fork_transaction_hash(self) -> str:
        """The transaction up to which the block after the fork block is replayed; empty: no replay."""

    @property
    def fork_headers(self) -> tuple[str, ...]:
        """HTTP headers of requests to the remote node."""

    @property
    def fork_url_callers(self) -> str:
        """Which clients may name another URL: `local` or `any`."""

    @property
    def allowed_origins(self) -> tuple[str, ...]:
        """Origins of web pages that may call the node."""

    @property
    def fork_retries(self) -> int:
        """Retries of a request that failed."""

    @property
    def fork_timeout(self) -> float:
        """Seconds until a request times out."""

    @property
    def fork_retry_backoff(self) -> float:
        """Seconds before each retry."""

    @property
    def fork_chain_id(self) -> int:
        """The fork's chain ID; 0: that of the remote chain."""

    @property
    def votes(self) -> bool:
        """Whether the validators decide on blocks."""

    @property
    def cache_accounts(self) -> int:
        """Accounts kept in memory."""

    @property
    def cache_slots(self) -> int:
        """Storage slots kept in memory."""

    @property
    def cache_blocks(self) -> int:
        """Blocks kept in memory."""

    @property
    def pool_slots(self) -> int:
        """Most pending transactions in the pool, in slots of 32 KiB."""

    @property
    def pool_queue(self) -> int:
        """Most transactions behind nonce gaps in the pool."""

    @property
    def pool_account_slots(self) -> int:
        """Executable transactions guaranteed to each account."""

    @property
    def pool_account_queue(self) -> int:
        """Most transactions of an account behind a nonce gap."""

    @property
    def pool_lifetime(self) -> int:
        """Seconds after which a queued transaction expires."""

    @property
    def pool_min_tip(self) -> int:
        """Lowest tip that the pool accepts, in wei for each gas."""

    @property
    def pool_unprotected(self) -> bool:
        """Whether legacy transactions without replay protection are accepted."""

    @property
    def rpc_tx_fee_cap(self) -> float:
        """Most coins that a sent transaction may pay in fees; 0: any."""

    @property
    def rpc_gas_cap(self) -> int:
        """Most gas that a call may use."""

    @property
    def rpc_call_timeout(self) -> float:
        """Seconds after which a call is aborted."""

    @property
    def trace_timeout(self) -> float:
        """Seconds after which the trace of a transaction is aborted, whatever timeout a client requests."""

    @property
    def trace_bytes(self) -> int:
        """Bytes of the largest response with traces."""

    @property
    def trace_calls(self) -> int:
        """Calls that trace at the same time; as many more may wait."""

    @property
    def trace_cache(self) -> int:
        """Bytes of responses with traces of accepted blocks that are cached in memory."""

    @property
    def indexes_calls(self) -> bool:
        """Whether the internal calls of transactions are written as rows."""

    @property
    def logs_transactions(self) -> bool:
        """Whether each transaction and call is logged."""

    @property
    def logs_block_range(self) -> int:
        """Most blocks that a search for logs may cover; 0: any."""

    @property
    def web_workers(self) -> int:
        """Serving processes, each with its share of the cores."""

    @property
    def logs_results(self) -> int:
        """Most logs that a search may return; 0: any."""

    @property
    def kept_states(self) -> int:
        """Blocks below the head whose states are kept; 0: all."""

    @property
    def history_calls(self) -> int:
        """Blocks below the head whose calls are kept as rows; 0: all."""

    @property
    def proof_window(self) -> int:
        """Most blocks below the head for which proofs are made."""

    @property
    def filters(self) -> int:
        """Most polled filters of all clients."""

    @property
    def filter_lifetime(self) -> int:
        """Seconds without a poll after which a filter is dropped."""

    @property
    def ws_message_limit(self) -> int:
        """Largest WebSocket message, in bytes."""

    @property
    def ws_subscriptions(self) -> int:
        """Most subscriptions of one connection."""

    @property
    def ws_connections(self) -> int:
        """Most WebSocket connections of one process."""
