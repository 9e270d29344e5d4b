"""Parses the docstring of a handler: the summary, the description and the errors of its method.

Docstrings of handlers have a fixed form, which a test verifies: the first line is the method's name, or several
names, a colon and the summary; then optional paragraphs, and `Raises:` with a line for each error. A handler with
the errors of another handler says `Raises as` and the other's name.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

_FIRST: Final = re.compile(r"[\w., ]+?: (?P<summary>.+)", re.DOTALL)
_AS: Final = re.compile(r" ?Raises as `?(?P<name>\w+)`?\.")
_SECTION: Final = re.compile(r"\n+(?P<title>Args|Raises):\n(?P<text>(?:    .*\n|\n(?=    ))*)")
_ENTRY: Final = re.compile(r"^    (?P<name>\w+): (?P<text>.*(?:\n        .*)*)", re.MULTILINE)
_CODE: Final = re.compile(r"(?P<code>-?\d+), (?P<text>.+)", re.DOTALL)
_CITED: Final = re.compile(r"\s*\((?:specification|[a-z]+\.md|`[a-z_.]+`)[^)]*\)")
_UNSPECIFIED: Final = re.compile(r"Unspecified: (?P<first>.)")


class DocumentedError(NamedTuple):
    """An error that a docstring names."""

    name: str
    """The name of its class; JsonRpcError for any code."""
    code: int | None
    """The code in the text, None if it has none."""
    text: str


class ParsedDocstring(NamedTuple):
    """The content of a docstring."""

    summary: str
    """A sentence, or empty."""
    description: str
    """Paragraphs, often empty."""
    failures: tuple[DocumentedError, ...]


def read(handler: Callable[..., Any]) -> ParsedDocstring:
    """Return the content of a handler's docstring."""
    function = inspect.unwrap(handler)
    text = inspect.getdoc(handler) or ""
    sections = {match["title"]: match["text"] for match in _SECTION.finditer(f"{text}\n")}
    paragraphs = _SECTION.sub("", f"{text}\n").split("\n\n")
    first = _FIRST.fullmatch(_plain(paragraphs[0]))
    return ParsedDocstring(
        _sentence(first["summary"]) if first else "",
        "\n\n".join(_sentence(item) for item in map(_plain, paragraphs[1:]) if item),
        (*_failures(sections.get("Raises", "")), *_elsewhere(function, text)),
    )


def _plain(paragraph: str) -> str:
    """Return a paragraph without the parts that are only useful to readers of the code."""
    return _CITED.sub("", _AS.sub("", " ".join(paragraph.split())))


def _sentence(text: str) -> str:
    """Return a text with a capital first letter, unless it begins with a name."""
    shown = _UNSPECIFIED.sub(lambda found: found["first"].upper(), text).strip()
    first = shown.partition(" ")[0]
    return shown if not first.islower() or "_" in first else shown[:1].upper() + shown[1:]


def _failures(section: str) -> Iterator[DocumentedError]:
    for entry in _ENTRY.finditer(section):
        text = " ".join(entry["text"].split()).rstrip(".")
        coded = [found for part in text.split("; ") if (found := _CODE.fullmatch(part))]
        if not coded:
            yield DocumentedError(entry["name"], None, _sentence(text))
        for found in coded:
            yield DocumentedError(entry["name"], int(found["code"]), _sentence(found["text"]))


def _elsewhere(function: Callable[..., Any], text: str) -> tuple[DocumentedError, ...]:
    """Return the errors of the handler that a docstring refers to, in the same module."""
    named = _AS.search(" ".join(text.split()))
    if named is None:
        return ()
    return read(function.__globals__[named["name"]]).failures
