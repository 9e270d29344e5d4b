"""The settings of the C-Chain's pool (docs/protocol/cchain.md, section 9)."""

from dataclasses import dataclass

from nodeproject.settings.flags import flag
from nodeproject.settings.history import HistorySettings


@dataclass(frozen=True, slots=True)
class PoolSettings(HistorySettings):
    """The operator's settings of the pool, with their defaults, most of which are geth's: a part of `NodeSettings`."""

    pool_account_slots: int = flag(16, "Executable transactions each account is granted.", least=1)
    pool_account_queue: int = flag(
        -1,
        "Most transactions of an account behind a nonce gap. -1: 64, on a chain to develop against as many as the pool.",
        least=-1,
    )
    pool_slots: int = flag(
        5120, "Most executable transactions in the pool (slots of 32 KiB).", least=1
    )
    pool_queue: int = flag(1024, "Most transactions behind nonce gaps in the pool.", least=0)
    pool_lifetime: int = flag(10_800, "Seconds after which a waiting transaction expires.", least=1)
    pool_min_tip: int = flag(0, "Least tip that the pool takes, in wei for each gas.", least=0)
    pool_unprotected: bool = flag(
        False, "Take legacy transactions without replay protection (EIP-155)."
    )
