"""Logins to the admin, limited: few passwords are hashed concurrently, and guessing becomes slow.

Hashing a password takes a core for most of a second. Wrong passwords are counted by client address and name,
so that a stranger who guesses an operator's password only locks out their own address, and by address alone,
against clients that try many names. After a few free attempts each wrong password locks for twice as long as
the one before, without regard to attempts in the meantime.

Unspecified: the counts are in the memory of each web process, not in Redis, because operators use the admin
precisely when Redis is unavailable. Guessing from many addresses is slowed only by the limit on hashing.
"""

import hashlib
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final

from django.contrib import admin
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.cache import caches
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from typing_extensions import override
from unfold.forms import AuthenticationForm

from chaindb.attempts import AttemptLimit, Failures, NoSlot, Slots
from jsonrpc.limits.client_address import client_key
from nodeproject.apps import this_node
from primitives.reasons import ErrorWithReason

CACHE: Final = "logins"
"""The alias of the cache that counts wrong passwords."""

OF_NAME: Final = AttemptLimit(free=5, longest=300, remembered=3600)
"""Limit for one name from one address."""
OF_ADDRESS: Final = AttemptLimit(free=20, longest=300, remembered=3600)
"""Limit for all names from one address, which several people may share."""

HASHING: Final = Slots(at_once=2, slots=4)
"""Limit on hashing; it leaves half of Django's threads (`process.DJANGO_THREADS`) to users who are logged in."""


class LoginReason(StrEnum):
    """Why a login is refused without trying the password."""

    TOO_MANY_FAILURES = "Too many failed logins: try again in {seconds} s."
    TOO_MANY_AT_ONCE = "Too many logins are being checked. Try again in a moment."


class LoginRefused(ErrorWithReason):
    """A login that is refused without trying the password.

    Args:
        reason: The reason.
        seconds: Seconds until the next attempt may be made.
    """

    def __init__(self, reason: LoginReason, seconds: int) -> None:
        super().__init__(reason, seconds=seconds)
        self.seconds = seconds
        self.status = (
            HTTPStatus.TOO_MANY_REQUESTS
            if reason is LoginReason.TOO_MANY_FAILURES
            else HTTPStatus.SERVICE_UNAVAILABLE
        )


class LimitedAttempts:
    """Limits the attempts of the authentication backend that follows it among the base classes."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        """Return the user with this name and password, or None.

        Raises:
            LoginRefused: There were too many wrong passwords recently, or too many passwords are being hashed.
        """
        backend: Any = super()
        guess = _LoginAttempt(request, username or "")
        guess.verify_unlocked()  # a locked client takes no slot
        try:
            with HASHING.slot():
                guess.verify_unlocked()  # attempts that ran before may have failed
                user: User | None = backend.authenticate(request, username, password, **kwargs)
                if user is None:
                    guess.count()
        except NoSlot:
            raise LoginRefused(LoginReason.TOO_MANY_AT_ONCE, 1) from None
        if user is not None:
            guess.forget()
        return user


class LimitedBackend(LimitedAttempts, ModelBackend):
    """Django's users and passwords, with limited attempts."""


class _LoginAttempt:
    """An attempt, with the address and name that it is counted against."""

    def __init__(self, request: HttpRequest | None, name: str) -> None:
        failures = caches[CACHE]
        address = "" if request is None else _client(request)
        self._address = _key(address)
        self._name = _key(address, name)
        self._of_address = Failures(failures, OF_ADDRESS)
        self._of_name = Failures(failures, OF_NAME)

    def verify_unlocked(self) -> None:
        seconds = max(
            self._of_address.seconds_locked(self._address),
            self._of_name.seconds_locked(self._name),
        )
        if seconds:
            raise LoginRefused(LoginReason.TOO_MANY_FAILURES, seconds)

    def count(self) -> None:
        self._of_address.count(self._address)
        self._of_name.count(self._name)

    def forget(self) -> None:
        """Forget the name's failures; those of the address stay, so a valid account gives no further guesses."""
        self._of_name.forget(self._name)


def _client(request: HttpRequest) -> str:
    forwarded_for = request.headers.get("x-forwarded-for", "").encode("latin-1", "replace")
    proxies = this_node().endpoints.gate_config.proxies
    return client_key(request.META.get("REMOTE_ADDR", ""), forwarded_for, proxies)


def _key(*parts: str) -> str:
    """Return a key of bounded length that is valid in any cache, whatever name a client sends."""
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()


class LoginForm(AuthenticationForm):  # type: ignore[misc]  # untyped
    """The theme's form, which shows why a login is refused."""

    refusal: LoginRefused | None = None

    @override
    def clean(self) -> dict[str, Any]:
        try:
            cleaned: dict[str, Any] = super().clean()
        except LoginRefused as refusal:
            self.refusal = refusal
            raise ValidationError(str(refusal), code="refused") from None
        return cleaned


def login(request: HttpRequest) -> HttpResponse:
    """Show the admin's login page; a refusal has its own status and a Retry-After header."""
    response = admin.site.login(request)
    form = (getattr(response, "context_data", None) or {}).get("form")
    refusal = form.refusal if isinstance(form, LoginForm) else None
    if refusal is not None:
        response.status_code = refusal.status
        response["Retry-After"] = str(refusal.seconds)
    return response
