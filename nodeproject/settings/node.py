"""Every `NODE_…` variable, which is also a flag of the start command; `given` has this process's values.

Settings that an app uses are fields of that app's dataclass, and of `primitives.settings` if several apps use them. The
tables in docs/settings.md are generated from `NodeSettings` (`manage.py node_settings`), and a test compares them.
"""

from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

from cchain_app.settings import EvmSettings
from explorer_app.settings import ExplorerSettings
from health_app.settings import HealthSettings
from network_app.settings import NetworkSettings
from nodeproject.settings.flags import BadSetting
from nodeproject.settings.formats import BASE_PATH, REDIS_URL
from platform_app.settings import PlatformSettings
from primitives.bearer import TokenFileError, read_tokens
from primitives.settings import CommonSettings, TextFormat, flag, group

_NETWORK = TextFormat("an IP address or network", partial(ip_network, strict=False))


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """The operator's settings, with their defaults: those of each app, and those of the node's processes."""

    common: CommonSettings = group(CommonSettings)
    cchain: EvmSettings = group(EvmSettings)
    platform: PlatformSettings = group(PlatformSettings)
    peers: NetworkSettings = group(NetworkSettings)
    health: HealthSettings = group(HealthSettings)
    explorer: ExplorerSettings = group(ExplorerSettings)

    state: str = flag(
        "",
        "File with the state of a local chain in Anvil's format: loaded at the start if it exists, written "
        "when the node ends.",
        options=(),
    )
    load_state: str = flag(
        "",
        "File in Anvil's format whose state a new local chain begins with; it must exist. Default: that of NODE_STATE.",
        options=(),
    )
    dump_state: str = flag(
        "",
        "File, or directory of a file `state.json`, to which the state of a local chain is written in Anvil's format when "
        "the node ends. Default: that of NODE_STATE.",
        options=(),
    )
    state_interval: int = flag(
        0,
        "Seconds after which the state is written to NODE_DUMP_STATE or NODE_STATE again while the node runs. 0: only at "
        "the end.",
        least=0,
        options=("-s",),
    )
    ipc: str = flag(
        "",
        "Unix socket at which the C-Chain's JSON-RPC answers, subscriptions included. Only the node's user may connect.",
        options=("--ipcpath",),
        bare="/tmp/anvil.ipc",  # noqa: S108  # Anvil's path
    )
    staking_cert_file: str = flag(
        "", "Staking certificate. Default: created in the data directory at the first start."
    )
    staking_key_file: str = flag("", "Key of the staking certificate. Default: likewise.")
    signer_key_file: str = flag("", "BLS key, 32 bytes. Default: likewise.")
    http_host: str = flag(
        "127.0.0.1",
        "Address that HTTP and WebSocket listen on. `::`, `*` or empty: all addresses, IPv4 and IPv6.",
        options=("--host", "--hostname"),
    )
    http_port: int = flag(
        9650,
        "Port of HTTP and WebSocket; 0: one that is free.",
        least=0,
        most=65_535,
        options=("--port", "-p"),
    )
    server: str = flag("uvicorn", "The web server.", choices=("uvicorn", "daphne"))
    log_level: str = flag(
        "INFO",
        "Lowest level that is logged: `DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL`.",
        choices=("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    )
    log_format: str = flag(
        "text",
        "Format of the log: `text` for people, `json` with an object on each line.",
        choices=("text", "json"),
        constants={"--json": "json"},
    )
    color: str = flag(
        "auto",
        "Whether the output has colours: `always`, `never`, or as the terminal supports them.",
        choices=("auto", "always", "never"),
        options=(),
    )
    quiet: bool = flag(
        default=False,
        meaning="Print nothing at the start, neither addresses nor keys, and log nothing below a warning.",
        options=("--silent", "-q"),
    )
    markdown: bool = flag(
        default=False,
        meaning="Print addresses and keys at the start as Markdown tables.",
        options=("--md",),
    )
    config_out: str = flag(
        "",
        "File to which the start writes accounts, keys and fees of a local chain, as JSON.",
        options=(),
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
    database_replica_urls: tuple[str, ...] = flag(
        (),
        "Read replicas of the PostgreSQL database (postgres://USER:PASSWORD@HOST:PORT/NAME, one host each), which "
        "answer historical reads: pages of the explorer, logs, and state at old blocks. A replica that lags or fails "
        "is left out.",
        secret=True,
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

    allowed_hosts: tuple[str, ...] = flag(
        ("localhost",),
        "Host names by which clients may address the node, RPC and admin (the Host header); `*` for all. IP "
        "addresses are always allowed.",
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
    body_limit: int = flag(
        5 * 1024 * 1024,
        "Maximum size of a request body, in bytes; NODE_REQUEST_MEMORY limits it too.",
        least=1,
        constants={"--no-request-size-limit": str(2**63 - 1)},
    )
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

    rpc_token_file: str = flag(
        "",
        "File with tokens, one per line: HTTP and WebSocket clients of the RPC interfaces have to send one of them in the "
        "header `Authorization: Bearer TOKEN`. Empty: they need none.",
    )
    keystore_token_file: str = flag(
        "",
        "The same for the keystore alone (`/ext/keystore`). Default: the file of NODE_RPC_TOKEN_FILE.",
    )
    metrics_token_file: str = flag(
        "",
        "The same for `/ext/metrics`, with tokens that allow nothing else. Default: the file of NODE_RPC_TOKEN_FILE.",
    )
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
    def indexes_calls(self) -> bool:
        """Whether the calls inside of transactions are stored as rows."""
        return self.cchain.indexes_calls(self.common.network_id)

    @property
    def indexes_tokens(self) -> bool:
        """Whether transfers and holders of tokens are stored as rows."""
        return self.explorer.indexes_tokens(self.common.network_id)

    @property
    def logs_transactions(self) -> bool:
        """Whether each transaction and call is logged."""
        return self.cchain.logs_transactions(self.common.network_id)

    @property
    def certificate_path(self) -> Path:
        """The staking certificate, in PEM: the node ID is its hash."""
        return Path(self.staking_cert_file or self.common.directory / "staking" / "staker.crt")

    @property
    def staking_key_path(self) -> Path:
        """The private key of the staking certificate, in PEM."""
        return Path(self.staking_key_file or self.common.directory / "staking" / "staker.key")

    @property
    def signer_path(self) -> Path:
        """The BLS key."""
        return Path(self.signer_key_file or self.common.directory / "staking" / "signer.key")

    @property
    def password_path(self) -> Path:
        """The file with the generated password of the admin user."""
        return self.common.directory / "admin_password"

    @property
    def mnemonic_path(self) -> Path:
        """The file with the random mnemonic of NODE_MNEMONIC_RANDOM."""
        return self.common.directory / "mnemonic"

    @property
    def rpc_tokens(self) -> tuple[str, ...]:
        """The tokens for the RPC interfaces, read from the file. Raises BadSetting."""
        return _tokens("NODE_RPC_TOKEN_FILE", self.rpc_token_file)

    @property
    def keystore_tokens(self) -> tuple[str, ...]:
        """The tokens for the keystore's interface, likewise."""
        file = self.keystore_token_file
        return _tokens("NODE_KEYSTORE_TOKEN_FILE", file) if file else self.rpc_tokens

    @property
    def metrics_tokens(self) -> tuple[str, ...]:
        """The tokens for the metrics, likewise."""
        file = self.metrics_token_file
        return _tokens("NODE_METRICS_TOKEN_FILE", file) if file else self.rpc_tokens

    @property
    def rpc_headers(self) -> dict[str, str]:
        """The headers with which the node's own commands call its RPC interfaces. Raises BadSetting."""
        tokens = self.rpc_tokens
        return {"Authorization": f"Bearer {tokens[0]}"} if tokens else {}

    @property
    def requests_per_second(self) -> int:
        """Calls per second and IP on the C-Chain's endpoints; 0 means no limit (specification 8)."""
        if self.rate_limit >= 0:
            return self.rate_limit
        return 40 if self.common.network_id in (1, 5) else 0

    @property
    def own_bootstrap(self) -> tuple[str, ...]:
        """Addresses in NODE_BOOTSTRAP at which peers reach this node itself."""
        return tuple(text for text in self.common.bootstrap if self._is_own(text))

    def _is_own(self, text: str) -> bool:
        host, port = _split(text)
        public, public_port = _split(self.peers.public_ip)
        if host == public and port == (public_port or self.peers.staking_port):
            return True
        if port != self.peers.staking_port or host is None:
            return False
        listening, _ = _split(self.peers.staking_host)
        return host == listening or bool(
            listening and listening.is_unspecified and host.is_loopback
        )


def _tokens(name: str, file: str) -> tuple[str, ...]:
    """Return the tokens of a file that a setting names. Raises BadSetting."""
    if not file:
        return ()
    try:
        return read_tokens(Path(file))
    except TokenFileError as error:
        raise BadSetting(f"{name} cannot be used: {error}") from error


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
