"""What an EVM chain looks at of the node's settings; what each one means is said in `NodeSettings`."""

from pathlib import Path
from typing import Protocol


class Settings(Protocol):
    """Settings of a node, as far as a chain and its doors need them."""

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
        """What the client's version begins with; empty: this node's own name."""

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
        """BIP-39 words that the keys of these accounts come from."""

    @property
    def derivation_path(self) -> str:
        """The BIP-32 path to them, without an account's number."""

    @property
    def balance(self) -> int:
        """Coins of each of them when the network begins."""

    @property
    def mining(self) -> str:
        """When blocks are made: `auto`, `interval` or `manual`."""

    @property
    def block_interval(self) -> float:
        """Seconds between blocks where they are made by the clock."""

    @property
    def bootstrap(self) -> tuple[str, ...]:
        """Nodes from which this one fetches the chains."""

    @property
    def development(self) -> bool:
        """Whether development methods exist where the network is local and this node alone decides."""

    @property
    def fork_url(self) -> tuple[str, ...]:
        """URLs of the node of the chain that this one is a fork of."""

    @property
    def fork_block_number(self) -> str:
        """The height from which a fork goes on; empty: the last block."""

    @property
    def fork_transaction_hash(self) -> str:
        """The transaction up to which the block after the pin is replayed; empty: nothing is."""

    @property
    def fork_headers(self) -> tuple[str, ...]:
        """Headers that it is asked with."""

    @property
    def fork_url_callers(self) -> str:
        """Who may name another URL: `local` or `any`."""

    @property
    def allowed_origins(self) -> tuple[str, ...]:
        """Origins of web pages that may call the node."""

    @property
    def fork_retries(self) -> int:
        """Tries after one that failed."""

    @property
    def fork_timeout(self) -> float:
        """Seconds for one question."""

    @property
    def fork_retry_backoff(self) -> float:
        """Seconds before each further try."""

    @property
    def fork_chain_id(self) -> int:
        """The fork's chain ID; 0: upstream's."""

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
        """Executable transactions each account is granted."""

    @property
    def pool_account_queue(self) -> int:
        """Most transactions of an account behind a nonce gap."""

    @property
    def pool_lifetime(self) -> int:
        """Seconds after which a waiting transaction expires."""

    @property
    def pool_min_tip(self) -> int:
        """Least tip that the pool takes, in wei for each gas."""

    @property
    def pool_unprotected(self) -> bool:
        """Whether legacy transactions without replay protection are taken."""

    @property
    def rpc_tx_fee_cap(self) -> float:
        """Most coins that a sent transaction may pay in fees; 0: any."""

    @property
    def rpc_gas_cap(self) -> int:
        """Most gas that a call may use."""

    @property
    def rpc_call_timeout(self) -> float:
        """Seconds after which a call is given up."""

    @property
    def trace_timeout(self) -> float:
        """Seconds after which the trace of a transaction is given up, whatever a client asks for."""

    @property
    def trace_bytes(self) -> int:
        """Bytes of the largest answer with traces."""

    @property
    def trace_calls(self) -> int:
        """Calls that trace at the same time; as many again wait for their turn."""

    @property
    def trace_cache(self) -> int:
        """Bytes of answers with traces of accepted blocks that are kept in memory."""

    @property
    def indexes_calls(self) -> bool:
        """Whether the calls inside of transactions are written as rows."""

    @property
    def logs_transactions(self) -> bool:
        """Whether the log tells of each transaction and call."""

    @property
    def logs_block_range(self) -> int:
        """Most blocks that a search for logs may cover; 0: any."""

    @property
    def web_workers(self) -> int:
        """Processes that answer, each with its share of the cores."""

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
        """Seconds after which a filter that nobody polls is dropped."""

    @property
    def ws_message_limit(self) -> int:
        """Largest WebSocket message, in bytes."""

    @property
    def ws_subscriptions(self) -> int:
        """Most subscriptions of one connection."""

    @property
    def ws_connections(self) -> int:
        """Most WebSocket connections of one process."""
