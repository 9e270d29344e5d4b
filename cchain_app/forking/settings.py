"""The settings of a local chain that forks a remote chain at one of its blocks (docs/development.md)."""

from dataclasses import dataclass
from functools import partial
from typing import Final

from cchain_app.forking.errors import MalformedForkSetting
from cchain_app.forking.origin import read_hash, read_headers, read_wanted
from primitives.settings import TextFormat, flag


def _verify_url(text: str) -> None:
    try:
        read_wanted([text])
    except MalformedForkSetting as error:
        raise ValueError from error


def _verify_hash(text: str) -> None:
    try:
        read_hash(text)
    except MalformedForkSetting as error:
        raise ValueError from error


def _verify_header(text: str) -> None:
    try:
        read_headers([text])
    except MalformedForkSetting as error:
        raise ValueError from error


FORK_URL: Final = TextFormat("a URL like https://HOST/PATH or URL@BLOCK", _verify_url)
TRANSACTION_HASH: Final = TextFormat(
    "a transaction's hash, 0x and 64 hexadecimal digits", _verify_hash
)
HEADER: Final = TextFormat("a header like NAME: VALUE", _verify_header)
WHOLE: Final = TextFormat("a whole number", partial(int, base=0))


@dataclass(frozen=True, slots=True)
class ForkSettings:
    """The settings of a fork, with their defaults."""

    url: tuple[str, ...] = flag(
        (),
        "JSON-RPC URL of the chain that the local chain forks, or URL@BLOCK; several are used in turn, the "
        "next after a failure. The part after the host is kept secret.",
        form=FORK_URL,
        secret=True,
        options=("-f", "--rpc-url", "--fork"),
    )
    block_number: str = flag(
        "",
        "Block at which the fork starts; a negative number counts back from the last block. Default: the last"
        " block.",
        form=WHOLE,
        options=(),
    )
    transaction_hash: str = flag(
        "",
        "Transaction up to which a fork replays the remote chain: the fork starts at the block before the "
        "transaction's, and replays that block up to and including the transaction. Alternative to "
        "NODE_FORK_BLOCK_NUMBER.",
        form=TRANSACTION_HASH,
        options=(),
    )
    headers: tuple[str, ...] = flag(
        (),
        "Headers for NODE_FORK_URL, each `NAME: VALUE`; they are sent to no other scheme, host or port, "
        "whatever URL anvil_setRpcUrl or anvil_reset name.",
        form=HEADER,
        secret=True,
        options=("--fork-header",),
    )
    url_callers: str = flag(
        "local",
        "Callers that may set another fork URL (anvil_setRpcUrl, anvil_reset, hardhat_reset). `local`: "
        "programs on this machine. `any`: also web pages and other machines.",
        choices=("local", "any"),
    )
    retries: int = flag(
        5,
        "Retries of a request to NODE_FORK_URL after a temporary failure.",
        least=0,
        options=("--retries",),
    )
    timeout: float = flag(
        45.0, "Seconds for one request to NODE_FORK_URL, including all its retries.", least=0.1
    )
    retry_delay: float = flag(
        1.0, "Seconds before each retry, unless the server asks for another delay.", least=0.0
    )
    compute_units: int = flag(
        0,
        "Compute units for each second that the server of NODE_FORK_URL allows; requests, which count as 17 each, are "
        "sent no faster. 0: unlimited.",
        least=0,
        options=("--compute-units-per-second",),
        constants={"--no-rate-limit": "0", "--no-rpc-rate-limit": "0"},
    )
    chain_id: int = flag(
        0,
        "Chain ID of a fork. 0: NODE_CHAIN_ID, or else the remote chain's.",
        least=0,
        most=2**63 - 1,
        options=(),
    )
