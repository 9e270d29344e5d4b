"""Who waits where for keys derived from the keystore's passwords: how often that is `keystore_guard`'s.

Deriving a key takes 64 MiB and a moment. Users wait in one lane; whoever is none yet, or names nobody,
in another: strangers cannot crowd users out. A lane that is full refuses at once, and both together
leave threads to calls that have nothing to do with passwords.
"""

from typing import ClassVar, NamedTuple, Self

from chaindb.attempts import Places
from platform_app.wallet.keystore_errors import KeystoreBusy


class Lane(Places):
    """Places for deriving keys from passwords; KeystoreBusy is raised where all of them are taken."""

    full: ClassVar[type[Exception]] = KeystoreBusy


class Lanes(NamedTuple):
    """Who waits where."""

    users: Lane
    strangers: Lane

    @classmethod
    def of(cls, threads: int) -> Self:
        """Return lanes of a process that has so many threads for calls: they take five eighths at most.

        Of one or two threads none can be left.
        """
        return cls(
            users=Lane(at_once=2, places=max(1, threads * 3 // 8)),
            strangers=Lane(at_once=1, places=max(1, threads // 4)),
        )
