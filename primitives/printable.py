"""Make untrusted text safe for terminals and logs: no control characters and no marks that reorder text."""

import re
from typing import Final

PLAIN: Final = "\x1b[0m"
"""Resets all colours."""

COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
"""Sets colours and styles on a terminal (SGR). Contracts may print some (forge-std's StdStyle)."""

LINE_END: Final = re.compile(r"\r\n|\n|\r")

_UNSAFE: Final = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line feed
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # bidirectional marks, and deprecated formatting
    r"\u2028\u2029"  # line and paragraph separators
    r"\ufeff\ufff9-\ufffb"  # byte order mark and annotations
    r"\ud800-\udfff"  # halves of surrogate pairs, which UTF-8 cannot encode
)
_ESCAPED: Final = re.compile(f"[{_UNSAFE}]")
_ESCAPED_BUT_COLOURS: Final = re.compile(rf"(?!{COLOUR.pattern})[{_UNSAFE}]")


def printable(text: str, *, colours: bool = False) -> str:
    """Return a text with those characters escaped that control a terminal or reorder text. Keeps lines.

    Args:
        text: Untrusted text.
        colours: Whether to keep colours.
    """
    pattern = _ESCAPED_BUT_COLOURS if colours else _ESCAPED
    return pattern.sub(lambda match: _escape(match[0]), "\n".join(LINE_END.split(text)))


def one_line(text: str) -> str:
    """Return a text escaped as by `printable`, with its line feeds escaped too."""
    return _ESCAPED.sub(lambda match: _escape(match[0]), text).replace("\n", "\\n")


def close_colours(line: str) -> str:
    """Return a line with a reset of all colours at its end if it sets any."""
    set_last = None
    for match in COLOUR.finditer(line):
        set_last = match[0]
    is_open = set_last is not None and set_last not in {PLAIN, "\x1b[m"}
    return line + PLAIN if is_open else line


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
