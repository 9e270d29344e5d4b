"""Declaration of settings, and the settings that several apps use: which network a node belongs to, and how.

A setting is a typed field of a frozen dataclass with its default, limits and documentation. `nodeproject.settings.flags`
reads such dataclasses from `NODE_…` variables.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from primitives.cb58 import Cb58Error
from primitives.ids import ID, PRIMARY_NETWORK_ID, IdError
from primitives.networks import LOCAL
from primitives.product import data_home
from primitives.upgrades import InvalidUpgrades, UpgradeTimes, read_upgrades

T = TypeVar("T")


class TextFormat(NamedTuple):
    """The required format of a text."""

    words: str
    """Its description, with an article."""
    read: Callable[[Any], object]
    """Raises ValueError if the text does not have this format."""


class FormError(ValueError):
    """A text does not have its format. The message says why, and repeats no part of the text that may be secret."""


def flag(
    default: T,
    meaning: str,
    *,
    choices: tuple[str, ...] = (),
    least: float | None = None,
    most: float | None = None,
    form: TextFormat | None = None,
    secret: bool = False,
    options: tuple[str, ...] | None = None,
    constants: Mapping[str, str] | None = None,
    implies: Mapping[str, str] | None = None,
    bare: str | None = None,
) -> T:
    """Declare a setting with its default and the sentence that documents it.

    The start command has a flag with the setting's name: `http_port` is `--http-port` (`options`).

    Args:
        default: The value if the environment has none.
        meaning: The sentence.
        choices: The allowed values.
        least: The minimum of a number.
        most: The maximum of a number.
        form: The required format of the text, or of each part of it.
        secret: Whether the value is never shown because it may contain a key.
        options: Further names of the flag, such as `-p`. If given, even empty, the flag is among those that
            the start command's help lists first.
        constants: Flags without a value, each with the text that it sets.
        bare: The text that the flag sets if it has no value; None: it needs one.
        implies: Other settings by name, with the texts that they get if this setting's flag is given; after `|` further
            texts that another flag may give them.
    """
    limits = {"choices": choices, "least": least, "most": most, "form": form, "secret": secret}
    names = {
        "options": options,
        "constants": constants or {},
        "implies": implies or {},
        "bare": bare,
    }
    made: T = field(
        default=default, repr=not secret, metadata={"meaning": meaning, **limits, **names}
    )
    return made


def group(cls: type[T], prefix: str = "") -> T:
    """Declare a group of settings: a field whose value is a dataclass of settings.

    Args:
        cls: The dataclass; each of its fields is declared with `flag` or `group`.
        prefix: The beginning of the names of its settings: `slots` in a group with the prefix `pool_` is the
            setting `pool_slots`.
    """
    made: T = field(default=cls(), metadata={"prefix": prefix})
    return made


def _read_upgrades(path: str) -> UpgradeTimes:
    try:
        return read_upgrades(Path(path))
    except (OSError, InvalidUpgrades) as error:
        raise FormError(str(error)) from error


UNNAMED_COIN = "COIN"
"""The symbol of the coin of a subnet's chain that NODE_SUBNET_COINS does not name."""

ALL_SUBNETS = "all"
"""In place of subnets' IDs: every subnet."""


def _read_subnet(text: str) -> object:
    if text == ALL_SUBNETS:
        return text
    try:
        return ID.parse(text)
    except (Cb58Error, IdError) as error:
        raise FormError(str(error)) from error


SUBNETS = TextFormat("a subnet's ID or `all`", _read_subnet)

_COIN = re.compile(r"[A-Za-z0-9 ]+=[A-Za-z0-9$.-]{1,11}")
"""A chain's name or blockchain ID, and a symbol of the length that wallets take."""


def _read_coin(text: str) -> object:
    if not _COIN.fullmatch(text):
        raise FormError("at most 11 letters, digits and $ . - after the equals sign")
    return text


SUBNET_COIN = TextFormat("a chain and the symbol of its coin, like `dex=DEX`", _read_coin)

UPGRADES_FILE = TextFormat("the path of a JSON file with upgrade times", _read_upgrades)


@dataclass(frozen=True, slots=True)
class CommonSettings:
    """The settings that several apps use."""

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
        options=("--cache-path",),
    )
    platform_genesis: str = flag(
        "",
        "The P-Chain's genesis file (the reference's JSON). Default: a network with this node as its only "
        "validator.",
    )
    upgrades: str = flag(
        "",
        "JSON file with the activation times of the upgrades of a network of your own, with the names of "
        "info.upgrades; those that it leaves out are active from the start, except Helicon. Default: the network's own times.",
        form=UPGRADES_FILE,
    )
    parameters: str = flag(
        "specification",
        "Amounts, limits and rules of the P-Chain: the specification's with 6 decimals, or the reference's "
        "with 9, whose local network has five built-in validators.",
        choices=("specification", "avalanchego"),
    )
    bootstrap: tuple[str, ...] = flag(
        (), "Nodes (IP:PORT) from which this node fetches the chains and which it follows."
    )
    chains: tuple[str, ...] = flag(
        ("P", "X", "C"),
        "Chains that this node takes part in. `P,X` leaves out the C-Chain, like the reference's partial sync, and `P` the "
        "X-Chain too.",
        choices=("P", "X", "C"),
    )
    track_subnets: tuple[str, ...] = flag(
        (),
        "IDs of subnets whose EVM chains this node runs, or `all`. Default: all on a local network whose blocks this node "
        "makes alone, otherwise none. With `all` anybody who creates a chain uses this node's disk, memory and time; such "
        "chains have no health checks, except those of subnets whose IDs are listed as well.",
        form=SUBNETS,
    )
    subnet_chain_limit: int = flag(
        100,
        "Most EVM chains of subnets that this node runs, each with a database and threads; the chains after that are "
        "refused. Chains of subnets whose IDs are in NODE_TRACK_SUBNETS do not count.",
        least=1,
    )
    subnet_coins: tuple[str, ...] = flag(
        (),
        "Symbols of the coins of subnets' chains, by the chain's name or blockchain ID: `dex=DEX,game=GAME`. Chains do not "
        f"name their coins themselves; without a symbol it is {UNNAMED_COIN}.",
        form=SUBNET_COIN,
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
    coin_symbol: str = flag(
        "AVAX",
        "Symbol of the network's coin in the explorer, in the admin and in wallets to which the explorer adds the chain.",
    )
    coin_name: str = flag(
        "Avalanche",
        "Name of the network's coin, for wallets. The explorer marks tokens that imitate it or NODE_COIN_SYMBOL.",
    )
    web_workers: int = flag(
        1,
        "Processes of the web server in the production profile. The embedded profile is one process, whose "
        "calls use all cores.",
        least=1,
    )
    allowed_origins: tuple[str, ...] = flag(
        ("*",),
        "Origins of web pages that may call the node (CORS), such as `http://localhost:3000` or "
        "`https://*.example.com`; `*` for all. The keys of your own NODE_MNEMONIC, of NODE_FAUCET_KEY_FILE "
        "and, outside of the local network, of the keystore are only used for pages whose origin is listed "
        "here explicitly; `*` is not enough.",
        options=("--allow-origin",),
        constants={"--no-cors": ""},
    )
    rpc_threads: int = flag(16, "Threads for calls that read the database or execute.", least=1)

    @property
    def votes(self) -> bool:
        """Whether the validators decide on blocks."""
        return self.consensus == "snowman"

    @property
    def enforces_delays(self) -> bool:
        """Whether blocks of subnets' chains wait for the delay that their parents ask for (ACP-226).

        A local network with a single block producer does not enforce them, so that transactions are mined at once.
        """
        return self.network_id != LOCAL or self.votes

    def tracks(self, subnet_id: ID) -> bool:
        """Return whether this node runs the EVM chains of a subnet."""
        wanted = self.track_subnets
        if not wanted:
            return self.network_id == LOCAL and not (self.bootstrap or self.votes)
        return ALL_SUBNETS in wanted or self.names_subnet(subnet_id)

    def names_subnet(self, subnet_id: ID) -> bool:
        """Return whether the operator tracks a subnet by its ID."""
        return str(subnet_id) in self.track_subnets

    def watches(self, subnet_id: ID) -> bool:
        """Return whether the chains of a subnet that this node tracks count for its health.

        With `all` strangers can create chains that do not run, so only chains of subnets named by ID count then.

        Unspecified: the reference tracks no subnets but those that its operator names.
        """
        is_primary = subnet_id == PRIMARY_NETWORK_ID
        return is_primary or ALL_SUBNETS not in self.track_subnets or self.names_subnet(subnet_id)

    def coin_of(self, aliases: Sequence[str]) -> str:
        """Return the symbol of the coin of a subnet's chain with these names."""
        symbols = dict(text.split("=", 1) for text in self.subnet_coins)
        return next((symbols[alias] for alias in aliases if alias in symbols), UNNAMED_COIN)

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
