"""The settings of the C-Chain's pool (docs/protocol/cchain.md, section 9)."""

from dataclasses import dataclass

from nodeproject.settings.flags import flag
from nodeproject.settings.history import HistorySettings


@dataclass(frozen=True, slots=True)
class PoolSettings(HistorySettings):
    """The operator's settings of the pool, with their defaults, most of which are geth's: a part of `NodeSettings`."""

    pool_account_slots: int = flag(
        16, "Executable transactions guaranteed to each account.", least=1
    )
    pool_account_queue: int = flag(
        -1,
        "Maximum transactions of an account behind a nonce gap. -1: 64, on a development chain as many as the"
        " pool.",
        least=-1,
    )
    pool_slots: int = flag(
        5120, "Maximum executable transactions in the pool (slots of 32 KiB).", least=1
    )
    pool_queue: int = flag(1024, "Maximum transactions behind nonce gaps in the pool.", least=0)
    pool_lifetime: int = flag(10_800, "Seconds after which a pending transaction expires.", least=1)
    pool_min_tip: int = flag(0, "Minimum tip that the pool accepts, in wei per gas.", least=0)
    pool_unprotected: bool = flag(
        False, "Accept legacy transactions without replay protection (EIP-155)."
    )
