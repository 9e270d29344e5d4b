"""Which passwords a new user may have (pchain.md 8.3)."""

from math import prod

from platform_app.wallet.errors import (
    MAX_PASSWORD_SIZE,
    EmptyPassword,
    PasswordTooLong,
    PasswordTooWeak,
)

JUDGED = 50
"""Characters that are judged, from the beginning."""
LEAST_SCORE = 2
"""Of zxcvbn's 0 to 4: a million guesses are not enough."""
MOST_READINGS = 16
"""Ways to read symbols as letters that are tried; each costs the search through all dictionaries."""


def encoded(password: str) -> bytes:
    """Return the bytes of a password, whatever is in it."""
    return password.encode("utf-8", "surrogatepass")


def verify_password(password: str) -> None:
    """Check a password for a new user.

    Raises:
        EmptyPassword: There is none.
        PasswordTooLong: It has more than 1024 bytes.
        PasswordTooWeak: It is guessed too soon.
    """
    if not password:
        raise EmptyPassword
    if len(encoded(password)) > MAX_PASSWORD_SIZE:
        raise PasswordTooLong
    if _score(_judged(password)) < LEAST_SCORE:
        raise PasswordTooWeak


def _judged(password: str) -> str:
    """Return the longest beginning that can be judged in a moment.

    Many different symbols that stand for letters have hundreds of readings, which would take seconds;
    the beginning that has few of them is judged alone. A password gets no weaker by what follows.
    """
    beginning = password[:JUDGED]
    while _readings(beginning) > MOST_READINGS:
        beginning = beginning[:-1]
    return beginning


def _readings(text: str) -> int:
    """Return about how many ways there are to read the symbols of a text as letters."""
    from zxcvbn.matching import L33T_TABLE  # type: ignore[import-untyped]  # as in `_score`

    found = (sum(symbol in text for symbol in symbols) for symbols in L33T_TABLE.values())
    return prod(count or 1 for count in found)


def _score(text: str) -> int:
    # Its dictionaries are megabytes, which a node needs that makes users.
    from zxcvbn import zxcvbn  # type: ignore[import-untyped]  # it has no types

    score = zxcvbn(text)["score"]
    assert isinstance(score, int)
    return score
