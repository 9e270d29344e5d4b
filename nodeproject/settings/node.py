"""Every `NODE_…` variable, which is also a flag of the start command; `given` has this process's values.

The tables in docs/settings.md are generated from this class (`manage.py node_settings`), and a test compares them.
"""

from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

from nodeproject.settings.flags import TextFormat, flag
from nodeproject.settings.forms import CLIENT_NAME, GAS_LIMIT, HARDFORK
from nodeproject.settings.redis_url import REDIS_URL
from nodeproject.settings.snow import SnowSettings
from nodeproject.startup.installation import data_home
from nodeproject.web.base_path import BASE_PATH
from primitives.networks import LOCAL

_NETWORK = TextFormat("an IP address or network", partial(ip_network, strict=False))


@dataclass(frozen=True, slots=True)
class NodeSettings(SnowSettings):
    """The operator's settings, with their defaults."""

    profile: str = flag(
        "embedded",
        "`embedded`: SQLite, everything in one process. `production`: PostgreSQL and Redis.",
        choices=("embedded", "production"),
    )
    network_id: int = flag(
        12345,
        "1 mainnet, 5 testnet, 12345 local, any other number a custom network.",
        least=1,
        most=2**32 - 1,
    )
    data_dir: str = flag(
        "",
        "Directory of keys, database and genesis. Default: `data/network-<id>` in a checkout; "
        "`~/.local/share/nunatak/network-<id>` (in XDG_DATA_HOME if that is set) for an installed package.",
        options=(),
    )
    genesis: str = flag(
        "",
        "The C-Chain's genesis file (geth's JSON). Default: the network's built-in genesis.",
        options=("--init",),
    )
    hardfork: str = flag(
        "",
        "Hard fork whose rules apply from the first block of a new local chain, from `frontier` to `osaka`. "
        "Default: the genesis file's.",
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
    state: str = flag(
        "",
        "File with the state of a local chain in Anvil's format: loaded at the start if it exists, written "
        "when the node ends.",
        options=(),
    )
    platform_genesis: str = flag(
        "",
        "The P-Chain's genesis file (the reference's JSON). Default: a network with this node as its only "
        "validator.",
    )
    parameters: str = flag(
        "specification",
        "Amounts, limits and rules of the P-Chain: the specification's with 6 decimals, or the reference's "
        "with 9, whose local network has five built-in validators.",
        choices=("specification", "avalanchego"),
    )
    staking_cert_file: str = flag(
        "", "Staking certificate. Default: created in the data directory at the first start."
    )
    staking_key_file: str = flag("", "Key of the staking certificate. Default: likewise.")
    signer_key_file: str = flag("", "BLS key, 32 bytes. Default: likewise.")
    chain_id: int = flag(
        0,
        "EVM chain ID that overrides the genesis file's, unless 0.",
        least=0,
        most=2**63 - 1,
        options=(),
    )
    http_host: str = flag(
        "127.0.0.1",
        "Address that HTTP and WebSocket listen on. `::`, `*` or empty: all addresses, IPv4 and IPv6.",
        options=("--host",),
    )
    http_port: int = flag(
        9650,
        "Port of HTTP and WebSocket; 0: one that is free.",
        least=0,
        most=65_535,
        options=("--port", "-p"),
    )
    staking_host: str = flag("127.0.0.1", "Address that peers connect to.")
    staking_port: int = flag(
        9651, "Port that peers connect to; 0: one that is free.", least=0, most=65_535
    )
    public_ip: str = flag(
        "",
        "Address that this node advertises to its peers, IP or IP:PORT. Default: the address on which it "
        "listens.",
    )
    network_allow_private_ips: str = flag(
        "auto",
        "Whether the node connects to private addresses that validators claim (10.0.0.0/8, 127.0.0.0/8 and so"
        " on); it always connects to those of NODE_BOOTSTRAP. `auto`: on all networks but 1 and 5.",
        choices=("auto", "true", "false"),
    )
    bootstrap: tuple[str, ...] = flag(
        (), "Nodes (IP:PORT) from which this node fetches the chains and which it follows."
    )
    chains: tuple[str, ...] = flag(
        ("P", "C"),
        "Chains that this node takes part in. Use `P` in a network of the reference's nodes, because their "
        "C-Chain is a different one.",
        choices=("P", "C"),
    )
    producer: str = flag(
        "",
        "Node ID of the producer of all blocks if NODE_CONSENSUS is `sole`. Default: this node; with "
        "NODE_BOOTSTRAP the producer named by the node that provided the genesis, or its first validator.",
    )
    consensus: str = flag(
        "sole",
        "How blocks are decided, the same on all nodes of a network. `sole`: by the one node that produces "
        "them (NODE_PRODUCER). `snowman`: the validators vote, and each proposes blocks in its slots.",
        choices=("sole", "snowman"),
    )
    network: bool = flag(
        True,
        "Whether this node connects to peers; in the production profile `runnetwork` does that.",
    )
    health_interval: float = flag(5.0, "Seconds between health checks.", least=0.05)
    server: str = flag("uvicorn", "The web server.", choices=("uvicorn", "daphne"))
    web_workers: int = flag(
        1,
        "Processes of the web server; in the embedded profile all but one only answer reads.",
        least=1,
    )
    log_level: str = flag(
        "INFO",
        "Lowest level that is logged: `DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL`.",
        choices=("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    )
    log_format: str = flag(
        "text",
        "Format of the log: `text` for people, `json` with an object on each line.",
        choices=("text", "json"),
    )
    log_transactions: str = flag(
        "local",
        "Whether to log each transaction of the C-Chain, the output of console.log, and calls. `local`: only "
        "on the local network.",
        choices=("local", "on", "off"),
    )
    quiet: bool = flag(
        default=False,
        meaning="Print nothing at the start, neither addresses nor keys, and log nothing below a warning.",
        options=("--silent", "-q"),
    )
    config_out: str = flag(
        "",
        "File to which the start writes accounts, keys and fees of a local chain, as JSON.",
        options=(),
    )
    client_name: str = flag(
        "",
        "First part of web3_clientVersion, for tools that expect a certain name: `anvil/v1.7.1`, "
        "`HardhatNetwork/3`.",
        form=CLIENT_NAME,
        options=(),
    )
    engine: str = flag(
        "auto",
        "EVM engine; `auto` uses `native` if it is built.",
        choices=("auto", "native", "reference"),
    )

    database_url: str = flag(
        "",
        "Database. Default: SQLite in the data directory; production needs PostgreSQL. Parameters of libpq "
        "follow `?`, such as `sslmode=verify-full`, or the directory of a socket (`host`).",
        secret=True,
    )
    database_pool: int = flag(
        32,
        "Maximum PostgreSQL connections of one process; must exceed its threads (NODE_RPC_THREADS).",
        least=1,
    )
    sqlite_synchronous: str = flag(
        "NORMAL",
        "`NORMAL` survives a kill of the node, `FULL` also a power failure, at a cost per block. Blocks that "
        "peers may have seen are always flushed to the disk.",
        choices=("NORMAL", "FULL"),
    )
    redis_url: str = flag(
        "redis://127.0.0.1:6379/0",
        "Broker, channel layer and shared limits. `rediss://` verifies the server's certificate "
        "(`?ssl_ca_certs=FILE` for your own authority); `unix:///PATH?db=0` is a socket.",
        form=REDIS_URL,
        secret=True,
    )

    mining: str = flag(
        "auto",
        "When the C-Chain produces blocks: on a transaction's arrival, by the clock, or on command.",
        choices=("auto", "interval", "manual"),
        constants={"--no-mining": "manual"},
        options=(),
    )
    development: bool = flag(
        True,
        "Whether development methods (evm_, anvil_, hardhat_, signing for accounts) are available; only in the embedded "
        "profile, on the local network, and if this node decides alone.",
    )
    block_interval: float = flag(
        2.0,
        "Seconds between blocks when NODE_MINING is `interval`.",
        least=0.05,
        options=("--block-time", "-b"),
        implies={"mining": "interval"},
    )
    min_base_fee: int = flag(
        1_000_000_000,
        "Minimum base fee, in wei per gas, if the genesis names none; must be the same on all nodes of a "
        "network.",
        least=0,
    )

    allowed_hosts: tuple[str, ...] = flag(
        ("localhost",),
        "Host names by which clients may address the node, RPC and admin (the Host header); `*` for all. IP "
        "addresses are always allowed.",
    )
    allowed_origins: tuple[str, ...] = flag(
        ("*",),
        "Origins of web pages that may call the node (CORS), such as `http://localhost:3000` or "
        "`https://*.example.com`; `*` for all. The keys of your own NODE_MNEMONIC, of NODE_FAUCET_KEY_FILE "
        "and, outside of the local network, of the keystore are only used for pages whose origin is listed "
        "here explicitly; `*` is not enough.",
    )
    trusted_proxies: tuple[str, ...] = flag(
        (),
        "Addresses of proxies whose X-Forwarded-For and X-Forwarded-Prefix headers are trusted.",
        form=_NETWORK,
    )
    base_path: str = flag(
        "",
        "Path below which a proxy serves the node's pages, such as `/node`. Default: the X-Forwarded-Prefix "
        "of a trusted proxy, or of a proxy on this machine.",
        form=BASE_PATH,
    )
    rate_limit: int = flag(
        -1,
        "Maximum C-Chain calls per second and IP. -1: 40 on networks 1 and 5, otherwise unlimited. 0: "
        "unlimited.",
        least=-1,
    )
    body_limit: int = flag(5 * 1024 * 1024, "Maximum size of a request body, in bytes.", least=1)
    page_body_limit: int = flag(
        262_144, "Maximum body of a request to the admin's pages, in bytes.", least=1
    )
    request_memory: int = flag(
        128 * 1024 * 1024,
        "Bytes of requests that a process reads and answers concurrently, a quarter of them for one client; "
        "further requests get the error that the server is busy. The same amount may wait for slow readers of"
        " WebSockets.",
        least=1,
    )
    connections: int = flag(
        0,
        "Maximum connections of one process, HTTP and WebSocket together. 0: as many as its file descriptors "
        "allow, up to 16384.",
        least=0,
    )
    address_connections: int = flag(
        0,
        "Maximum connections of one address (IPv6: of its /64), except trusted proxies. 0: three quarters of "
        "all.",
        least=0,
    )
    batch_limit: int = flag(1000, "Maximum calls in a batch.", least=1)
    response_limit: int = flag(
        25_000_000, "Bytes after which a batch gets no further answers.", least=1
    )
    ws_message_limit: int = flag(
        32 * 1024 * 1024, "Maximum size of a WebSocket message, in bytes.", least=1
    )
    ws_subscriptions: int = flag(1000, "Maximum subscriptions of one connection.", least=0)
    ws_connections: int = flag(
        10_000,
        "Maximum WebSocket connections of one process; one client may have at most three quarters of them.",
        least=0,
    )
    rpc_threads: int = flag(16, "Threads for calls that read the database or execute.", least=1)
    rpc_gas_cap: int = flag(
        -1,
        "Maximum gas of eth_call and eth_estimateGas; 0: unlimited. -1: 50,000,000, on a development chain at"
        " least a block's gas limit.",
        least=-1,
    )
    rpc_call_timeout: float = flag(5.0, "Seconds after which a call is aborted.", least=0.01)
    rpc_tx_fee_cap: float = flag(
        -1.0,
        "Maximum fee of a submitted transaction, in coins; 0: unlimited. -1: 100, on a development chain "
        "unlimited.",
        least=-1,
    )
    trace_timeout: float = flag(
        30.0,
        "Maximum seconds for the trace of one transaction; a client that names no timeout gets 5.",
        least=0.01,
    )
    trace_bytes: int = flag(
        32_000_000,
        "Maximum size of an answer with traces, in bytes; one client may use a quarter of NODE_REQUEST_MEMORY"
        " for it.",
        least=1,
    )
    trace_calls: int = flag(
        4, "Tracing calls that run concurrently; the same number may wait.", least=1
    )
    trace_cache: int = flag(
        64_000_000,
        "Bytes of answers with block traces that each process keeps in memory.",
        least=0,
    )
    trace_index: str = flag(
        "local",
        "Whether calls inside of transactions are stored as rows, after their blocks, so that they can be "
        "searched by address. `local`: only on the local network.",
        choices=("local", "on", "off"),
    )
    token_index: str = flag(
        "local",
        "Whether transfers and holders of tokens are stored as rows, after their blocks, for the explorer's "
        "pages. `local`: only on the local network.",
        choices=("local", "on", "off"),
    )
    logs_block_range: int = flag(
        0, "Maximum blocks that eth_getLogs searches; 0: unlimited.", least=0
    )
    logs_results: int = flag(
        10_000, "Maximum logs that eth_getLogs returns; 0: unlimited.", least=0
    )
    proof_window: int = flag(
        43_200, "Maximum blocks below the head for which eth_getProof answers.", least=0
    )
    filter_lifetime: int = flag(
        300, "Seconds after which a filter is dropped if it is not polled.", least=1
    )
    filters: int = flag(
        10_000,
        "Maximum filters of all clients, where each 4 KiB count as one. The client with the most filters "
        "loses its least recently polled one.",
        least=1,
    )
    cache_accounts: int = flag(100_000, "Accounts kept in the memory of each process.", least=0)
    cache_slots: int = flag(500_000, "Storage slots kept in the memory of each process.", least=0)
    cache_blocks: int = flag(256, "Blocks kept in the memory of each process.", least=0)
    keystore_users: int = flag(1000, "Maximum users of this node's keystore.", least=0)

    secret_key_file: str = flag(
        "",
        "File with Django's secret key. Default: created in the data directory at the first start.",
    )
    admin_user: str = flag("admin", "Name of the admin user that the first start creates.")
    admin_https: bool = flag(
        False,
        "Whether the admin is only reached over HTTPS, through a proxy that sets X-Forwarded-Proto: its "
        "cookies are then restricted to HTTPS.",
    )

    @property
    def logged_level(self) -> str:
        """The lowest level that is logged, at least WARNING for a quiet node."""
        return "WARNING" if self.quiet and self.log_level in {"DEBUG", "INFO"} else self.log_level

    @property
    def votes(self) -> bool:
        """Whether the validators decide on blocks."""
        return self.consensus == "snowman"

    @property
    def indexes_calls(self) -> bool:
        """Whether the calls inside of transactions are stored as rows."""
        return self.trace_index == "on" or (
            self.trace_index == "local" and self.network_id == LOCAL
        )

    @property
    def indexes_tokens(self) -> bool:
        """Whether transfers and holders of tokens are stored as rows."""
        return self.token_index == "on" or (  # noqa: S105  # the tokens are ERC-20's
            self.token_index == "local" and self.network_id == LOCAL  # noqa: S105  # likewise
        )

    @property
    def logs_transactions(self) -> bool:
        """Whether each transaction and call is logged."""
        return self.log_transactions == "on" or (
            self.log_transactions == "local" and self.network_id == LOCAL
        )

    @property
    def has_built_in_network(self) -> bool:
        """Whether the P-Chain's genesis is built in, validators included."""
        return (
            self.parameters == "avalanchego"
            and self.network_id == LOCAL
            and not self.platform_genesis
        )

    @property
    def directory(self) -> Path:
        """The data directory."""
        return Path(self.data_dir) if self.data_dir else data_home() / f"network-{self.network_id}"

    @property
    def genesis_directory(self) -> Path:
        """The directory of the genesis that was fetched from the nodes this one follows."""
        return self.directory / "genesis"

    @property
    def certificate_path(self) -> Path:
        """The staking certificate, in PEM: the node ID is its hash."""
        return Path(self.staking_cert_file or self.directory / "staking" / "staker.crt")

    @property
    def staking_key_path(self) -> Path:
        """The private key of the staking certificate, in PEM."""
        return Path(self.staking_key_file or self.directory / "staking" / "staker.key")

    @property
    def signer_path(self) -> Path:
        """The BLS key."""
        return Path(self.signer_key_file or self.directory / "staking" / "signer.key")

    @property
    def requests_per_second(self) -> int:
        """Calls per second and IP on the C-Chain's endpoints; 0 means no limit (specification 8)."""
        if self.rate_limit >= 0:
            return self.rate_limit
        return 40 if self.network_id in (1, 5) else 0

    @property
    def dials_private(self) -> bool:
        """Whether the node connects to private addresses that validators claim."""
        if self.network_allow_private_ips == "auto":
            return self.network_id not in (1, 5)
        return self.network_allow_private_ips == "true"

    @property
    def own_bootstrap(self) -> tuple[str, ...]:
        """Addresses in NODE_BOOTSTRAP at which peers reach this node itself."""
        return tuple(text for text in self.bootstrap if self._is_own(text))

    def _is_own(self, text: str) -> bool:
        host, port = _split(text)
        public, public_port = _split(self.public_ip)
        if host == public and port == (public_port or self.staking_port):
            return True
        if port != self.staking_port or host is None:
            return False
        listening, _ = _split(self.staking_host)
        return host == listening or bool(
            listening and listening.is_unspecified and host.is_loopback
        )


def _split(text: str) -> tuple[IPv4Address | IPv6Address | None, int | None]:
    """Parse IP or IP:PORT; None for a missing or invalid part."""
    try:
        return ip_address(text), None
    except ValueError:
        host, _, port = text.rpartition(":")
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")), int(port)
    except ValueError:
        return None, None
