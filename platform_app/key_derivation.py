"""Who waits where for keys derived from the keystore's passwords: how often that is `keystore_guard`'s.

Deriving a key takes 64 MiB and a moment. Users have slots of their own, and so has whoever is none yet or names
nobody: strangers cannot crowd users out. Where all are taken the next one is refused at once, and both together
leave threads to calls that have nothing to do with passwords.
"""

from typing import ClassVar, NamedTuple, Self

from chaindb.attempts import Slots
from platform_app.wallet.keystore_errors import KeystoreBusy


class DerivationSlots(Slots):
    """Slots for deriving keys from passwords; KeystoreBusy is raised where all of them are taken."""

    full: ClassVar[type[Exception]] = KeystoreBusy


class KeyDerivation(NamedTuple):
    """Who waits where."""

    users: DerivationSlots
    strangers: DerivationSlots

    @classmethod
    def of(cls, threads: int) -> Self:
        """Return slots of a process that has so many threads for calls: they take five eighths at most.

        Of one or two threads none can be left.
        """
        return cls(
            users=DerivationSlots(at_once=2, slots=max(1, threads * 3 // 8)),
            strangers=DerivationSlots(at_once=1, slots=max(1, threads // 4)),
        )
