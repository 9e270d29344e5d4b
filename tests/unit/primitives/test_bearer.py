"""Bearer tokens: files of tokens, and Authorization headers."""

import re
from pathlib import Path

import pytest

from primitives.bearer import NO_TOKENS, BearerTokens, TokenFileError, read_tokens

FIRST, SECOND = "first-token-of-the-file", "c2Vjb25kLXRva2Vu+/=="


def test_a_file_has_one_token_per_line(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# the old one, until June\n{FIRST}  \n\n  {SECOND}\r\n")

    assert read_tokens(file) == (FIRST, SECOND)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", " has no token"),
        (b"# only a comment\n", " has no token"),
        (b"x" * 15, ", line 1: a token has 16 to 512 characters, this one has 15"),
        (b"x" * 513, ", line 1: a token has 16 to 512 characters, this one has 513"),
        (b"\nwith a space in between", ", line 2: a token consists of letters, digits and - . _ ~"),
        (b"=" * 16, ", line 1: a token consists of letters"),
        ("ä".encode() * 16, " has characters that no token can have"),
        (b"0123456789abcdef\n" * 101, " has 101 tokens, at most 100 are allowed"),
    ],
)
def test_an_invalid_file_is_refused_without_showing_a_token(
    tmp_path: Path, content: bytes, words: str
) -> None:
    file = tmp_path / "tokens"
    file.write_bytes(content)

    with pytest.raises(TokenFileError, match=f"^{re.escape(f'{file}{words}')}") as refused:
        read_tokens(file)
    assert "xxx" not in str(refused.value)
    assert "space in between" not in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        TokenFileError, match=r"/nowhere cannot be read: No such file or directory$"
    ):
        read_tokens(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("authorization", "accepted"),
    [
        (f"Bearer {FIRST}", True),
        (f"bearer  {SECOND}", True),
        (f"BEARER {FIRST}", True),
        ("", False),
        ("Bearer", False),
        ("Bearer ", False),
        (FIRST, False),
        (f"Basic {FIRST}", False),
        (f"Bearer {FIRST[:-1]}", False),
        (f"Bearer {FIRST}x", False),
        (f"Bearer {FIRST},Bearer {FIRST}", False),
        (f"Bearer {FIRST} {SECOND}", False),
        ("Bearer \xff\xfe", False),
    ],
)
def test_a_request_needs_exactly_one_of_the_tokens(authorization: str, accepted: bool) -> None:  # noqa: FBT001
    tokens = BearerTokens((FIRST, SECOND))

    assert tokens.required
    assert tokens.accepts(authorization.encode("latin-1")) is accepted


def test_without_tokens_every_request_is_accepted() -> None:
    assert not NO_TOKENS.required
    assert NO_TOKENS.accepts(b"")
    assert NO_TOKENS.accepts(b"Bearer anything")


def test_challenge_distinguishes_wrong_and_missing_token() -> None:
    tokens = BearerTokens((FIRST,))

    assert tokens.challenge(b"") == b'Bearer realm="node"'
    assert tokens.challenge(b"Basic abc") == b'Bearer realm="node"'
    assert tokens.challenge(b"Bearer abc") == b'Bearer realm="node", error="invalid_token"'
