"""Bearer tokens (RFC 6750): reading them from a file, and checking the Authorization header of a request.

A file has one token per line, so that an operator can add a new token before removing the old one. Blank lines, and
lines that begin with `#`, have no effect.
"""

import hmac
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

MIN_LENGTH: Final = 16
"""Characters of the shortest token, because a short one can be guessed."""
MAX_LENGTH: Final = 512
"""Characters of the longest token. Common request heads have to fit into a limit (`jsonrpc.http.fast_path`)."""
MAX_TOKENS: Final = 100
"""Tokens of a file. Each wrong request is compared with all of them."""

_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""`b64token` of RFC 6750, 2.1."""
_SCHEME: Final = re.compile(rb"bearer +", re.IGNORECASE)


class TokenFileError(ValueError):
    """A file of tokens cannot be used. The message names the file, and repeats no part of a token."""


def read_tokens(path: Path) -> tuple[str, ...]:
    """Return the tokens of a file.

    Raises:
        TokenFileError: The file cannot be read, has no token or too many, or has an invalid one.
    """
    try:
        lines = path.read_text("ascii").splitlines()
    except OSError as error:
        raise TokenFileError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise TokenFileError(f"{path} has characters that no token can have") from None
    numbered = [(number, line.strip()) for number, line in enumerate(lines, 1)]
    tokens = [(number, text) for number, text in numbered if text and not text.startswith("#")]
    for number, text in tokens:
        if _TOKEN.fullmatch(text) is None:
            raise TokenFileError(
                f"{path}, line {number}: a token consists of letters, digits and - . _ ~ + /, with = only at its end"
            )
        if not MIN_LENGTH <= len(text) <= MAX_LENGTH:
            raise TokenFileError(
                f"{path}, line {number}: a token has {MIN_LENGTH} to {MAX_LENGTH} characters, this one has {len(text)}"
            )
    if not tokens:
        raise TokenFileError(f"{path} has no token")
    if len(tokens) > MAX_TOKENS:
        raise TokenFileError(f"{path} has {len(tokens)} tokens, at most {MAX_TOKENS} are allowed")
    return tuple(text for _, text in tokens)


class BearerTokens:
    """The tokens of which each request needs one; without tokens every request is accepted.

    Args:
        tokens: The tokens.
    """

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        self._tokens = tuple(token.encode() for token in tokens)

    @property
    def required(self) -> bool:
        """Whether requests need a token."""
        return bool(self._tokens)

    def accepts(self, authorization: bytes) -> bool:
        """Return whether a request with this Authorization header is accepted, in time independent of the tokens."""
        if not self._tokens:
            return True
        given = _given(authorization)
        # All tokens are compared, each in constant time: the time must not tell which one was similar.
        return sum(hmac.compare_digest(given, token) for token in self._tokens) > 0

    def challenge(self, authorization: bytes) -> bytes:
        """Return the value of WWW-Authenticate in the refusal of a request with this Authorization header."""
        wrong = b', error="invalid_token"' if _given(authorization) else b""
        return b'Bearer realm="node"%b' % wrong


def _given(authorization: bytes) -> bytes:
    """Return the token of an Authorization header; empty if it has none."""
    scheme = _SCHEME.match(authorization)
    return b"" if scheme is None else authorization[scheme.end() :]


NO_TOKENS: Final = BearerTokens()
