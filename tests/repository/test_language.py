"""Prose in docstrings, comments and documents is plain English (CONTRIBUTING.md, "Language").

The patterns are constructions that make a reader stop: noun clauses without a subject, inverted sentences and
the metaphors of this project's first years. A single match is allowed; a rate above the limit is not.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

LIMIT = 1.0
"""Most matches per 1,000 words of a package or document. Django and web3.py stay below it."""

FEW = 2
"""Matches that are always allowed, because a short text reaches any rate with one."""

CODE = (
    "adminkit",
    "benchmarks",
    "cchain_app",
    "chaindb",
    "chainvm",
    "explorer_app",
    "health_app",
    "info_app",
    "jsonrpc",
    "network_app",
    "nodeproject",
    "nunatak",
    "platform_app",
    "primitives",
    "scripts",
    "shared_app",
    "tests",
    "utxo",
    "xchain_app",
)
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs")
SKIPPED = {"migrations", "vectors", "node_modules", "build", "target", "__pycache__"}

PATTERNS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        # "What is asked stays": a clause in place of a noun.
        r"\bwhat (?:is|are|was|were|has|had|comes?|came|waits?|goes|others?|nobody|somebody|can|may|must)\b",
        r"(?:^|[.;:,] )What (?:a|an|the|they|it|he|this|that|each|all)\b",
        # "Who asks hears nothing", "for whoever waits".
        r"(?:^|[.;:,] )Who(?:ever)? \w+s\b",
        r"\b(?:of|to|by|for|than|from|only|let) who(?:ever)?\b",
        r"\b(?:[Nn]obody|[Ss]omebody|[Ww]hoever|[Ww]hatever comes)\b",
        # Idioms that were taken from another language.
        r"\b(?:anew|by hand|of its own accord|by itself|by themselves|the very same|as ever|for ever|in words)\b",
        r"\b(?:at once|no more|there is none|is none|does so|do so)\b",
        r"\b(?:told|tells?|telling) of\b",
        r"\b[Ss]ays? (?:whether|which|how|what)\b|\b[Tt]ells? (?:whether|which|how|what)\b",
        r"\b(?:goes on|went on|go on|stands? (?:still|for|in|at|above|beside|there)|lies in|come to pass)\b",
        # "Of genesis only the hash is known": the object before the verb.
        r"(?:^|[.] )(?:Of|Beside|Besides|Such) [a-z' ]{3,40} (?:only|there|is|are|was|comes?|goes|nothing)\b",
    )
)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line number and text of a file's docstrings and comments, or of a document outside of code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        fenced = False
        for number, line in enumerate(text.splitlines(), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            elif not fenced and not line.startswith("    "):
                yield number, line
        return
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            for offset, line in enumerate(node.value.value.splitlines()):
                yield node.lineno + offset, line.strip()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


def files(place: Path) -> Iterator[Path]:
    """Yield the sources and documents at a path."""
    if place.is_file():
        yield place
        return
    for path in sorted(place.rglob("*")):
        if path.suffix in {".py", ".md"} and not SKIPPED & set(path.relative_to(ROOT).parts):
            yield path


def matches(text: str) -> list[str]:
    """Return the parts of a line that match a pattern."""
    return [match.group() for pattern in PATTERNS for match in pattern.finditer(text)]


@pytest.mark.parametrize("place", [*CODE, *DOCUMENTS])
def test_prose_is_plain(place: str) -> None:
    words, found = 0, []
    for path in files(ROOT / place):
        for number, line in prose(path):
            words += len(line.split())
            found += [f"{path.relative_to(ROOT)}:{number}: {part}" for part in matches(line)]

    assert words, f"{place} has no prose"
    assert len(found) <= max(FEW, LIMIT * words / 1000), "\n".join(found)


def test_each_package_is_checked() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}

    assert packages - set(CODE) == set()


@pytest.mark.parametrize(
    "sentence",
    [
        "Return what was asked.",
        "Who waits hears of it.",
        "The state is read anew.",
        "Say whether a block is known.",
        "Of genesis only the hash is known.",
    ],
)
def test_a_sentence_of_the_old_style_is_found(sentence: str) -> None:
    assert matches(sentence)


def test_a_plain_sentence_is_not_found() -> None:
    assert matches("Return whether the block is processing, or None if it is unknown.") == []
