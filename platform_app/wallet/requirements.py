"""Requirements for arguments of the keystore's methods: staking terms and passwords (pchain.md 8.3)."""

import struct
from math import prod

from platform_app.config import PlatformConfig
from platform_app.wallet.errors import MAX_PASSWORD_SIZE, WalletError, WalletReason


def verify_start(start: int, *, now: int, config: PlatformConfig) -> None:
    """Check the requested start of staking, in Unix seconds; 0 means immediately.

    Unspecified: the reference requires a start at least 20 seconds ahead, because its transactions became
    void once the start had passed. That does not happen here, but a requested start should not be moved. If
    starts are ignored (`PlatformConfig.durango`), any start is accepted.

    Raises:
        WalletError: It is less than twice the synchrony bound ahead; it is later than the
            network allows.
    """
    if start == 0 or config.durango:
        return
    ahead = 2 * config.synchrony_bound
    if start < now + ahead:
        raise WalletError(WalletReason.START_TOO_SOON, seconds=ahead)
    if start > now + config.max_start_ahead:
        raise WalletError(WalletReason.START_TOO_FAR)


def shares_of(rate: float) -> int:
    """Convert a delegation fee in percent to millionths, with the reference's 32-bit arithmetic.

    Raises:
        WalletError: It is not a percentage.
    """
    if not 0 <= rate <= 100:
        raise WalletError(WalletReason.RATE_OUT_OF_RANGE)
    return int(float32(10_000 * float32(rate)))


def float32(number: float) -> float:
    """Return the nearest 32-bit floating-point number."""
    (rounded,) = struct.unpack("f", struct.pack("f", number))
    return float(rounded)


MAX_SCORED = 50
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
    if _score(_scorable_prefix(password)) < MIN_SCORE:
        raise WalletError(WalletReason.PASSWORD_TOO_WEAK)


def _scorable_prefix(password: str) -> str:
    """Return the longest prefix that can be scored quickly.

    Some passwords have many symbols that can be read as letters, hundreds of readings in all, which would take
    seconds. Therefore only a prefix with few readings is scored. The remainder does not make a password weaker.
    """
    beginning = password[:MAX_SCORED]
    while _readings(beginning) > MAX_READINGS:
        beginning = beginning[:-1]
    return beginning


def _readings(text: str) -> int:
    """Return the approximate number of ways to read the symbols of a text as letters."""
    from zxcvbn.matching import L33T_TABLE  # type: ignore[import-untyped]  # as in `_score`

    counts = (sum(symbol in text for symbol in symbols) for symbols in L33T_TABLE.values())
    return prod(count or 1 for count in counts)


def _score(text: str) -> int:
    # Imported here because its dictionaries take megabytes, which only a node that creates users needs.
    from zxcvbn import zxcvbn  # type: ignore[import-untyped]  # it has no types

    score = zxcvbn(text)["score"]
    assert isinstance(score, int)
    return score
