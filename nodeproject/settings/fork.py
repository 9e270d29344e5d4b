"""The settings of a local chain that forks a remote chain at one of its blocks (docs/development.md)."""

from dataclasses import dataclass

from nodeproject.settings.flags import flag
from nodeproject.settings.forms import FORK_URL, HEADER, TRANSACTION_HASH, WHOLE


@dataclass(frozen=True, slots=True)
class ForkSettings:
    """The operator's settings of a fork, with their defaults: a part of `NodeSettings`."""

    fork_url: tuple[str, ...] = flag(
        (),
        "JSON-RPC URL of a chain that the local one goes on from, or URL@BLOCK; several take turns, the next "
        "after a failure. What stands behind the host is kept secret.",
        form=FORK_URL,
        secret=True,
        options=("-f",),
    )
    fork_block_number: str = flag(
        "",
        "The block that a fork goes on from; negative: so many before the last one. Default: the last one.",
        form=WHOLE,
        options=(),
    )
    fork_transaction_hash: str = flag(
        "",
        "A transaction: a fork goes on from the block before its own, which is replayed up to and with it. Instead "
        "of NODE_FORK_BLOCK_NUMBER.",
        form=TRANSACTION_HASH,
        options=(),
    )
    fork_headers: tuple[str, ...] = flag(
        (),
        "Headers for that URL, each `NAME: VALUE`; no other scheme, host or port gets them, whatever URL "
        "anvil_setRpcUrl or anvil_reset name.",
        form=HEADER,
        secret=True,
        options=("--fork-header",),
    )
    fork_url_callers: str = flag(
        "local",
        "Callers that may name another such URL (anvil_setRpcUrl, anvil_reset, hardhat_reset). `local`: programs on "
        "this machine. `any`: web pages and other machines as well.",
        choices=("local", "any"),
    )
    fork_retries: int = flag(
        5, "Tries after one that failed and may work later.", least=0, options=("--retries",)
    )
    fork_timeout: float = flag(
        45.0, "Seconds for one question to that URL, with all its tries.", least=0.1
    )
    fork_retry_backoff: float = flag(
        1.0, "Seconds before each further try, unless the server names others.", least=0.0
    )
    fork_chain_id: int = flag(
        0,
        "Chain ID of a fork. 0: NODE_CHAIN_ID, else that chain's.",
        least=0,
        most=2**63 - 1,
        options=(),
    )
