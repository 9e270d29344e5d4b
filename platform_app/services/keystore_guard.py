"""Limits on password attempts per user; `key_derivation` limits concurrent key derivations.

A user's wrong passwords are counted in Django's cache, which all processes share in production. After a few
free attempts, each wrong password locks the user for twice as long as the one before, whatever is tried
meanwhile; the correct password resets the count. An attacker can therefore lock a user out for five minutes at
a time; that is accepted. There is no count over all users, because an attacker could lock out all of them.
Unknown names are not counted either, because no password is right for them. Time is wall time, not the node's
clock, because callers may move that.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.core.cache import cache

from chaindb.attempts import AttemptLimit, Failures
from platform_app.chain import PlatformChain
from platform_app.wallet.errors import KeystoreError, KeystoreReason, WrongPassword

OF_USER: Final = AttemptLimit(free=5, longest=300, remembered=3600)


@contextmanager
def attempt(chain: PlatformChain, user_id: int) -> Iterator[None]:
    """Allow one password attempt for a user; a WrongPassword raised in the context is counted.

    Raises:
        KeystoreError: Too many attempts are in progress; too many attempts failed recently.
    """
    key = _key_of(chain, user_id)
    _verify_unlocked(key)  # a locked user takes no slot
    with chain.key_derivation.users.slot():
        _verify_unlocked(key)  # attempts that were ahead in the queue may have failed
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
        raise KeystoreError(KeystoreReason.TOO_MANY_ATTEMPTS, seconds=seconds)
