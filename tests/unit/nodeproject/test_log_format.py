"""How lines of the log look: for people with and without colours, and as JSON."""

import json
import logging
import sys

import pytest

from nodeproject.log_format import TextFormatter, json_formatter, text_formatter


def record(name: str, text: str, *values: object, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord(name, logging.INFO, __file__, 1, text, values, None)
    made.__dict__.update(extra)
    return made


def test_entries_stand_for_themselves_and_others_have_time_level_and_name() -> None:
    formatter = TextFormatter(colours=False)

    assert formatter.format(record("node.transactions", "%s", "  From: 0x")) == "  From: 0x"
    shown = formatter.format(record("jsonrpc", "method %s crashed", "x"))
    assert shown.endswith(" INFO    jsonrpc  method x crashed")
    assert shown[:2] == "20"


@pytest.mark.parametrize("name", ["node.calls", "jsonrpc"])
def test_colours_are_for_who_sees_them(name) -> None:
    coloured = record(name, "%s", "\x1b[1;31mred\x1b[0m plain")

    assert TextFormatter(colours=True).format(coloured).endswith("\x1b[1;31mred\x1b[0m plain")
    assert TextFormatter(colours=False).format(coloured).endswith("red plain")
    assert "\x1b" not in TextFormatter(colours=False).format(coloured)


def test_what_is_no_terminal_gets_no_colours(monkeypatch) -> None:
    assert text_formatter().format(record("node.calls", "\x1b[31mx\x1b[0m")) == "x"


@pytest.mark.parametrize(("variable", "shown"), [("", "\x1b[31mx\x1b[0m"), ("1", "x")])
def test_a_terminal_gets_colours_unless_it_wants_none(monkeypatch, variable, shown) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("NO_COLOR", variable)

    assert text_formatter().format(record("node.calls", "\x1b[31mx\x1b[0m")) == shown


def test_a_line_of_json_has_the_members_of_an_entry() -> None:
    entry = record("node.calls", "eth_call", fields={"event": "call", "method": "eth_call"})

    shown = json.loads(json_formatter().format(entry))
    assert shown.pop("timestamp").endswith("Z")
    assert shown == {
        "event": "call", "method": "eth_call", "level": "info", "logger": "node.calls",
    }  # fmt: skip


def test_a_failure_has_its_trace_in_one_line_of_json() -> None:
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
