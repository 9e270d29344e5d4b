"""How often passwords may be tried, and how many at once.

Deriving a key takes 64 MiB: two at a time in a process, a few more may wait, the others are refused at
once, so that neither memory nor the threads that answer everything else run out.

Wrong passwords are counted in Django's cache, which all processes share in production, by user and
overall. Beyond a few free ones each locks the user's name for twice as long as the one before, whatever
is tried meanwhile; the right password makes the user's count zero. Names that nobody has are counted
overall only: they must not fill the cache. Whoever guesses can lock a user out for five minutes at a
time; that is the price. Time is wall time, not the node's clock, which callers may move.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Final, NamedTuple

from django.core.cache import cache

from platform_app.services.keystore_errors import KeystoreBusy, TooManyAttempts
from platform_app.wallet.errors import WrongPassword

AT_ONCE: Final = 2
WAITING: Final = 4

_slots = BoundedSemaphore(AT_ONCE)
_places = BoundedSemaphore(AT_ONCE + WAITING)


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


OF_USER = Limit(free=5, longest=300, remembered=3600)
OVERALL = Limit(free=100, longest=60, remembered=60)

_OVERALL_KEY = "keystore-overall"


@contextmanager
def derivation() -> Iterator[None]:
    """Take one of the few places for costly work with a password.

    Raises:
        KeystoreBusy: All of them are taken, and as many wait as may.
    """
    if not _places.acquire(blocking=False):
        raise KeystoreBusy
    try:
        with _slots:
            yield
    finally:
        _places.release()


@contextmanager
def attempt(user_id: int | None) -> Iterator[None]:
    """Let one password be tried; a WrongPassword that comes out of it is counted.

    Args:
        user_id: Whose password it is, or None for a name that nobody has.

    Raises:
        KeystoreBusy: Too many are tried at once.
        TooManyAttempts: Too many were wrong lately.
    """
    with derivation():
        counted = [(_OVERALL_KEY, OVERALL)]
        if user_id is not None:
            counted.append((_key_of(user_id), OF_USER))
        _verify_unlocked(key for key, _ in counted)
        try:
            yield
        except WrongPassword:
            for key, limit in counted:
                _count_failure(key, limit)
            raise
    if user_id is not None:
        cache.delete(_key_of(user_id))


def _key_of(user_id: int) -> str:
    return f"keystore-user-{user_id}"


def _until(key: str) -> str:
    return f"{key}-until"


def _verify_unlocked(keys: Iterable[str]) -> None:
    until = cache.get_many([_until(key) for key in keys]).values()
    seconds = max(until, default=0.0) - time.time()
    if seconds > 0:
        raise TooManyAttempts(int(seconds) + 1)


def _count_failure(key: str, limit: Limit) -> None:
    """Count a wrong password, and lock where there were too many."""
    cache.add(key, 0, limit.remembered)
    try:
        failures = cache.incr(key)
    except ValueError:  # it was forgotten in between
        cache.set(key, failures := 1, limit.remembered)
    seconds = limit.seconds_after(failures)
    if seconds:
        cache.set(_until(key), time.time() + seconds, seconds + 1)
