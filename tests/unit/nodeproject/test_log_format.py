"""The log as text and as JSON, which untrusted input can neither forge nor flood."""

import json
import logging
import sys

import pytest

from nodeproject.startup.log_format import (
    REPEAT_SECONDS,
    REPEATS,
    RepeatFilter,
    TextFormatter,
    json_formatter,
    text_formatter,
)


def record(name: str, text: str, *values: object, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord(name, logging.INFO, __file__, 1, text, values, None)
    made.__dict__.update(extra)
    return made


def test_entries_are_unprefixed_and_records_have_time_level_and_name() -> None:
    formatter = TextFormatter(colours=False)

    assert formatter.format(record("node.transactions", "%s", "  From: 0x")) == "  From: 0x"
    shown = formatter.format(record("jsonrpc", "method %s crashed", "x"))
    assert shown.endswith(" INFO    jsonrpc  method x crashed")
    assert shown[:2] == "20"


def test_colours_of_entries_are_for_terminals() -> None:
    coloured = record("node.calls", "%s", "\x1b[1;31mred\x1b[0m plain")

    assert TextFormatter(colours=True).format(coloured) == "\x1b[1;31mred\x1b[0m plain"
    assert TextFormatter(colours=False).format(coloured) == "red plain"


@pytest.mark.parametrize("colours", [True, False], ids=["terminal", "file"])
def test_values_of_other_records_set_no_colours(colours) -> None:
    shown = TextFormatter(colours=colours).format(record("jsonrpc", "method %s", "\x1b[31mx"))

    assert shown.endswith("method \\x1b[31mx")


FORGED = "2026-11-28 23:59:59,999 ERROR   django.security  FORGED"
BREAKS = ("\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029")


@pytest.mark.parametrize("end", BREAKS)
def test_value_cannot_start_a_log_line(end: str) -> None:
    shown = TextFormatter(colours=True).format(record("jsonrpc", "method %s", f"x{end}{FORGED}"))

    assert len(shown.splitlines()) == 1


@pytest.mark.parametrize("end", BREAKS)
def test_exception_message_lines_are_indented(end: str) -> None:
    made = record("jsonrpc", "method %s crashed", "x")
    made.exc_info = (ValueError, ValueError(f"x{end}{FORGED}"), None)

    first, *others = TextFormatter(colours=True).format(made).splitlines()

    assert first.endswith("method x crashed")
    assert others[0].startswith("  ValueError: x")
    assert all(line.startswith("  ") for line in others)


@pytest.mark.parametrize("end", BREAKS)
def test_value_in_an_entry_cannot_forge_a_line(end: str) -> None:
    text = f"  From: x{end}\x1b[31m{FORGED}"

    for colours in (True, False):
        shown = TextFormatter(colours=colours).format(record("node.calls", "%s", text))
        assert not any(line.startswith(("2026", "\x1b[31m2026")) for line in shown.splitlines())


def test_an_entry_closes_its_colours_and_shows_no_text_backwards() -> None:
    shown = TextFormatter(colours=True).format(record("node.calls", "%s", "a\u202eb\x1b[31mc\nd"))

    assert shown == "a\\u202eb\x1b[31mc\x1b[0m\n  d"


def test_json_has_no_character_that_is_not_ascii() -> None:
    text = f"a\u202eb\u2028{FORGED}\n\x9b\ud800"
    entry = record("node.calls", "%s", text, fields={"event": "call", "method": text})
    other = record("jsonrpc", "method %s", text)

    for made, name in ((entry, "method"), (other, "event")):
        shown = json_formatter().format(made)
        assert shown.isascii()
        assert shown.isprintable()
        assert json.loads(shown)[name].endswith(text)


def test_output_to_a_pipe_has_no_colours(monkeypatch) -> None:
    assert text_formatter().format(record("node.calls", "\x1b[31mx\x1b[0m")) == "x"


@pytest.mark.parametrize(("variable", "shown"), [("", "\x1b[31mx\x1b[0m"), ("1", "x")])
def test_a_terminal_gets_colours_unless_it_wants_none(monkeypatch, variable, shown) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("NO_COLOR", variable)

    assert text_formatter().format(record("node.calls", "\x1b[31mx\x1b[0m")) == shown


@pytest.mark.parametrize(("color", "shown"), [("always", "\x1b[31mx\x1b[0m"), ("never", "x")])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_setting_decides_on_colours(monkeypatch, color, shown, is_terminal) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)

    assert text_formatter(color).format(record("node.calls", "\x1b[31mx\x1b[0m")) == shown


def test_a_line_of_json_has_the_members_of_an_entry() -> None:
    entry = record("node.calls", "eth_call", fields={"event": "call", "method": "eth_call"})

    shown = json.loads(json_formatter().format(entry))
    assert shown.pop("timestamp").endswith("Z")
    assert shown == {
        "event": "call", "method": "eth_call", "level": "info", "logger": "node.calls",
    }  # fmt: skip


def test_traceback_is_in_one_line_of_json() -> None:
    made = record("jsonrpc", "method %s crashed", "x")
    try:
        {}["inside"]
    except KeyError:
        made.exc_info = sys.exc_info()

    text = json_formatter().format(made)
    assert "\n" not in text
    shown = json.loads(text)
    assert shown["event"] == "method x crashed"
    assert "KeyError: 'inside'" in shown["exception"]


def passed(
    repeats: RepeatFilter, times: int, *, name: str = "jsonrpc", **given: object
) -> list[logging.LogRecord]:
    made = [record(name, "refused %s", place, **given) for place in range(times)]
    return [item for item in made if repeats.filter(item)]


def test_log_rate_per_code_location_is_limited_and_reported() -> None:
    now = 0.0
    repeats = RepeatFilter(lambda: now)

    assert len(passed(repeats, REPEATS + 7)) == REPEATS
    assert len(passed(repeats, 1, lineno=2)) == 1
    now = REPEAT_SECONDS - 0.1
    assert passed(repeats, 1) == []
    now = REPEAT_SECONDS
    first, second = passed(repeats, 2)

    shown = TextFormatter(colours=False).format(first)
    assert shown.endswith("  refused 0 (8 more like this before it were not logged)")
    assert TextFormatter(colours=False).format(second).endswith("  refused 1")
    assert json.loads(json_formatter().format(first))["omitted"] == 8
    assert "omitted" not in json.loads(json_formatter().format(second))


def test_debug_and_separately_limited_records_are_kept() -> None:
    repeats = RepeatFilter()

    assert len(passed(repeats, 2 * REPEATS, levelno=logging.DEBUG)) == 2 * REPEATS
    assert len(passed(repeats, 2 * REPEATS, name="node.calls")) == 2 * REPEATS
