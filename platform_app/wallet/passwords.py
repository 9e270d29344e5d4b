"""Requirements for the password of a new user (pchain.md 8.3)."""

from math import prod

from platform_app.wallet.errors import MAX_PASSWORD_SIZE, WalletError, WalletReason

JUDGED = 50
"""Maximum number of characters that are scored, from the start."""
MIN_SCORE = 2
"""On zxcvbn's scale of 0 to 4: more than a million guesses are needed."""
MAX_READINGS = 16
"""Maximum number of ways to read symbols as letters; each costs a search through all dictionaries."""


def encoded(password: str) -> bytes:
    """Return the bytes of a password with any characters."""
    return password.encode("utf-8", "surrogatepass")


def verify_password(password: str) -> None:
    """Check a password for a new user.

    Raises:
        WalletError: It is empty; it has more than 1024 bytes; it is easy to guess.
    """
    if not password:
        raise WalletError(WalletReason.EMPTY_PASSWORD)
    if len(encoded(password)) > MAX_PASSWORD_SIZE:
        raise WalletError(WalletReason.PASSWORD_TOO_LONG)
    if _score(_judged(password)) < MIN_SCORE:
        raise WalletError(WalletReason.PASSWORD_TOO_WEAK)


def _judged(password: str) -> str:
    """Return the longest prefix that can be scored quickly.

    Some passwords have many symbols that can be read as letters, hundreds of readings in all, which would take
    seconds. Therefore only a prefix with few readings is scored. The remainder does not make a password weaker.
    """
    beginning = password[:JUDGED]
    while _readings(beginning) > MAX_READINGS:
        beginning = beginning[:-1]
    return beginning


def _readings(text: str) -> int:
    """Return the approximate number of ways to read the symbols of a text as letters."""
    from zxcvbn.matching import L33T_TABLE  # type: ignore[import-untyped]  # as in `_score`

    found = (sum(symbol in text for symbol in symbols) for symbols in L33T_TABLE.values())
    return prod(count or 1 for count in found)


def _score(text: str) -> int:
    # Imported here because its dictionaries take megabytes, which only a node that creates users needs.
    from zxcvbn import zxcvbn  # type: ignore[import-untyped]  # it has no types

    score = zxcvbn(text)["score"]
    assert isinstance(score, int)
    return score
