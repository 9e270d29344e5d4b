"""How often a user's password may be tried, and how much is derived from passwords at once.

Deriving a key takes 64 MiB and a moment. Users wait in one lane; whoever is none yet, or names nobody,
in another: strangers cannot crowd users out. A lane that is full refuses at once, and both together
leave threads to calls that have nothing to do with passwords.

A user's wrong passwords are counted in Django's cache, which all processes share in production. Beyond a
few free ones each locks the user for twice as long as the one before, whatever is tried meanwhile; the
right password makes the count zero. Whoever guesses can lock a user out for five minutes at a time; that
is the price. Nothing is counted of all users together: whoever guesses would lock out everybody. Nor are
names that nobody has: no password is right for them. Time is wall time, not the node's clock, which
callers may move.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Final, NamedTuple

from django.conf import settings
from django.core.cache import cache

from chaindb.attempts import Failures, Limit, Places
from platform_app.services.keystore_errors import KeystoreBusy, TooManyAttempts
from platform_app.wallet.errors import WrongPassword


class Lane(Places):
    """Places for deriving keys from passwords; KeystoreBusy is raised where all of them are taken."""

    full: ClassVar[type[Exception]] = KeystoreBusy


class Lanes(NamedTuple):
    """Who waits where."""

    users: Lane
    strangers: Lane


def lanes(threads: int) -> Lanes:
    """Return lanes of a process that has so many threads for calls: they take five eighths at most.

    Of one or two threads none can be left.
    """
    return Lanes(
        users=Lane(at_once=2, places=max(1, threads * 3 // 8)),
        strangers=Lane(at_once=1, places=max(1, threads // 4)),
    )


USERS, STRANGERS = lanes(settings.NODE.rpc_threads)

OF_USER: Final = Limit(free=5, longest=300, remembered=3600)


@contextmanager
def attempt(user_id: int) -> Iterator[None]:
    """Let one password of a user be tried; a WrongPassword that comes out of it is counted.

    Raises:
        KeystoreBusy: Too many are tried at once.
        TooManyAttempts: Too many were wrong lately.
    """
    _verify_unlocked(user_id)  # who is locked takes no place
    with USERS.place():
        _verify_unlocked(user_id)  # those in front may have been wrong
        try:
            yield
        except WrongPassword:
            _failures().count(_key_of(user_id))
            raise
    _failures().forget(_key_of(user_id))


def _failures() -> Failures:
    return Failures(cache, OF_USER)


def _key_of(user_id: int) -> str:
    return f"keystore-user-{user_id}"


def _verify_unlocked(user_id: int) -> None:
    seconds = _failures().seconds_locked(_key_of(user_id))
    if seconds:
        raise TooManyAttempts(seconds)
