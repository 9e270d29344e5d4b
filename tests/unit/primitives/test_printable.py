"""Untrusted text cannot control a terminal, reorder characters on it, or start a new line."""

import pytest

from primitives.printable import PLAIN, close_colours, one_line, printable

UNSAFE = (
    *range(9), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F),
    *range(0x2066, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC), 0xD800, 0xDFFF,
)  # fmt: skip


@pytest.mark.parametrize("function", [printable, one_line])
def test_characters_that_control_or_reorder_are_escaped(function) -> None:
    for number in set(UNSAFE) - {0x0D}:
        escape = f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
        assert function(f"a{chr(number)}b") == f"a{escape}b"


@pytest.mark.parametrize("text", ["plain", "a\tb", "größer ‑ 日本語 ✓ 👩‍🚀"])
def test_printable_text_is_unchanged(text: str) -> None:
    assert printable(text) == one_line(text) == text


def test_line_endings_are_unified_and_removed_in_one_line() -> None:
    assert printable("a\r\nb\rc\nd") == "a\nb\nc\nd"
    assert one_line("a\r\nb\nc") == "a\\x0d\\nb\\nc"


def test_only_allowed_colour_sequences_are_kept() -> None:
    text = "a\x1b[31mred\x1b[0m\tb\x1b]0;title\x07\x9b2J\x1b[2J"

    assert printable(text, colours=True) == (
        "a\x1b[31mred\x1b[0m\tb\\x1b]0;title\\x07\\x9b2J\\x1b[2J"
    )
    assert "\x1b" not in printable(text)


@pytest.mark.parametrize("line", ["", "plain", "\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[m"])
def test_line_without_open_colour_is_unchanged(line: str) -> None:
    assert close_colours(line) == line


@pytest.mark.parametrize("line", ["\x1b[31mred", "\x1b[0m\x1b[8m", "\x1b[0;31mred"])
def test_an_open_colour_is_closed(line: str) -> None:
    assert close_colours(line) == line + PLAIN
