"""Each citation in code and documents names a document of docs/protocol and an existing section.

A citation is a name followed by sections, as in "p2p.md 5.1, 7" or "pchain.md 1 to 4"; "specification 4.3"
and "design 9" are abbreviations of the names of these documents.
"""

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.sources import files_below

ROOT = Path(__file__).parents[2]
UNKNOWN = "nowhere"
TEXTS = ROOT / "docs" / "protocol"
PRODUCT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "root_packages"
]
CODE = (*PRODUCT, "benchmarks", "scripts", "tests", "native/src")
KINDS = {".py", ".pyi", ".rs", ".proto", ".sh", ".toml", ".html"}
BY_NAME = re.compile(r"[A-Za-z0-9_./-]*\w\.md\b")
SECTION = r"\d+(?:\.\d+)*"
BY_SECTION = re.compile(
    rf"\b(?:([a-z0-9_]+)\.md`?|(specification|design)) ({SECTION}(?:(?:,| and| to|–) ?{SECTION})*)\b"
)


def sources() -> list[Path]:
    return [
        path
        for package in CODE
        for path in files_below(ROOT / package)
        if path.suffix in KINDS and path != Path(__file__)
    ]


def texts() -> list[Path]:
    return [*sorted((ROOT / "docs").rglob("*.md")), *ROOT.glob("*.md")]


@cache
def flowing(path: Path) -> str:
    """Return a file's text without line breaks, so that citations may span lines."""
    return re.sub(r"\s*\n\s*(?:#|//+!?)?\s*", " ", path.read_text())


@cache
def sections(text: Path) -> set[str]:
    return set(re.findall(rf"(?m)^#+ ({SECTION})\.? ", text.read_text()))


def unfound(said: str) -> list[str]:
    """Return the citations in a text whose target does not exist."""
    lost = []
    for match in BY_SECTION.finditer(said):
        text = TEXTS / f"{match[1] or match[2]}.md"
        known = sections(text) if text.is_file() else set()
        if not set(re.findall(SECTION, match[3])) <= known:
            lost.append(match[0])
    return lost


def test_each_cited_section_exists() -> None:
    paths = [*sources(), *texts()]
    lost = {str(path.relative_to(ROOT)): unfound(flowing(path)) for path in paths}

    assert len(paths) > 500
    assert not {path: where for path, where in lost.items() if where}


def test_documents_named_in_code_exist() -> None:
    for path in sources():
        for name in set(BY_NAME.findall(flowing(path))):
            folders = (ROOT, ROOT / "docs", ROOT / "docs/recipes", TEXTS)
            places = [folder / name for folder in folders]
            assert any(place.is_file() for place in places), f"{name} in {path.relative_to(ROOT)}"


def test_each_text_of_the_protocol_is_cited() -> None:
    cited = {
        match[1] or match[2] for path in sources() for match in BY_SECTION.finditer(flowing(path))
    }

    assert {text.stem for text in TEXTS.glob("*.md")} - {"README"} <= cited


@pytest.mark.parametrize(
    "said",
    [
        "as it is there (p2p.md 99).", "as it is there (p2p.md 5.1, 99).", "of both (pchain.md 1 to 99)",
        "p2p.md 5.1 and 5.99", "`cchain.md` 99", "specification 99", "design 99", f"{UNKNOWN}.md 1",
    ],
)  # fmt: skip
def test_wrong_citation_is_found(said: str) -> None:
    assert unfound(said)
