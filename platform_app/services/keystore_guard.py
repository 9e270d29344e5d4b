"""How often a user's password may be tried; how much is derived from passwords at once is `key_derivation`.

A user's wrong passwords are counted in Django's cache, which all processes share in production. Beyond a
few free ones each locks the user for twice as long as the one before, whatever is tried meanwhile; the
right password makes the count zero. Whoever guesses can lock a user out for five minutes at a time; that
is the price. Nothing is counted of all users together: whoever guesses would lock out everybody. Nor are
names that nobody has: no password is right for them. Time is wall time, not the node's clock, which
callers may move.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.core.cache import cache

from chaindb.attempts import Failures, Limit
from platform_app.chain import PlatformChain
from platform_app.wallet.errors import WrongPassword
from platform_app.wallet.keystore_errors import TooManyAttempts

OF_USER: Final = Limit(free=5, longest=300, remembered=3600)


@contextmanager
def attempt(chain: PlatformChain, user_id: int) -> Iterator[None]:
    """Let one password of a user be tried; a WrongPassword that comes out of it is counted.

    Raises:
        KeystoreBusy: Too many are tried at once.
        TooManyAttempts: Too many were wrong recently.
    """
    key = _key_of(chain, user_id)
    _verify_unlocked(key)  # who is locked takes no place
    with chain.key_derivation.users.slot():
        _verify_unlocked(key)  # those in front may have been wrong
        try:
            yield
        except WrongPassword:
            _failures().count(key)
            raise
    _failures().forget(key)


def _failures() -> Failures:
    return Failures(cache, OF_USER)


def _key_of(chain: PlatformChain, user_id: int) -> str:
    return chain.cache_key(f"keystore-user-{user_id}")


def _verify_unlocked(key: str) -> None:
    seconds = _failures().seconds_locked(key)
    if seconds:
        raise TooManyAttempts(seconds)
