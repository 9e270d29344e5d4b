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

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Final, NamedTuple

from django.conf import settings
from django.core.cache import cache

from platform_app.services.keystore_errors import KeystoreBusy, TooManyAttempts
from platform_app.wallet.errors import WrongPassword


class Lane:
    """Places for costly work with passwords; who has one may have to wait for those in front."""

    def __init__(self, *, at_once: int, places: int) -> None:
        """Take how many work at once, and how many there are with those who wait."""
        self.at_once = at_once
        self.places = places
        self._slots = BoundedSemaphore(at_once)
        self._places = BoundedSemaphore(places)

    @contextmanager
    def place(self) -> Iterator[None]:
        """Take a place for as long as the work lasts.

        Raises:
            KeystoreBusy: All of them are taken.
        """
        if not self._places.acquire(blocking=False):
            raise KeystoreBusy
        try:
            with self._slots:
                yield
        finally:
            self._places.release()


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


class Limit(NamedTuple):
    """How many wrong passwords are free, and what the others cost."""

    free: int
    longest: int
    """Seconds that one more locks at most."""
    remembered: int
    """Seconds for which they are counted."""

    def seconds_after(self, failures: int) -> int:
        """Return for how long so many failures lock."""
        return 0 if failures < self.free else min(self.longest, 1 << min(failures - self.free, 30))


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
            _count_failure(user_id)
            raise
    cache.delete(_key_of(user_id))


def _key_of(user_id: int) -> str:
    return f"keystore-user-{user_id}"


def _until(user_id: int) -> str:
    return f"{_key_of(user_id)}-until"


def _verify_unlocked(user_id: int) -> None:
    seconds = cache.get(_until(user_id), 0.0) - time.time()
    if seconds > 0:
        raise TooManyAttempts(int(seconds) + 1)


def _count_failure(user_id: int) -> None:
    """Count a wrong password, and lock where there were too many."""
    key = _key_of(user_id)
    cache.add(key, 0, OF_USER.remembered)
    try:
        failures = cache.incr(key)
    except ValueError:  # it was forgotten in between
        cache.set(key, failures := 1, OF_USER.remembered)
    seconds = OF_USER.seconds_after(failures)
    if seconds:
        cache.set(_until(user_id), time.time() + seconds, seconds + 1)
