"""The log's format: lines for people, with colours on a terminal, or one JSON object per line.

Foreign text in a record cannot begin a line, move a terminal's cursor, reorder the characters on the screen, or
colour the lines that follow.
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, TextIO

from typing_extensions import override

from primitives.printable import COLOUR, close_colours, one_line, printable

ENTRIES: Final = "node."
"""Prefix of the loggers of entries, which are written without time, level and name."""

LINE: Final = "%(asctime)s %(levelname)-7s %(name)s  %(message)s"

REPEATS: Final = 100
"""Maximum records of one place in the code within `REPEAT_SECONDS`."""
REPEAT_SECONDS: Final = 60.0


class TextFormatter(logging.Formatter):
    """Lines for people. All lines of a record but the first begin with a blank.

    Args:
        colours: Whether to write colours.
    """

    def __init__(self, *, colours: bool) -> None:
        super().__init__(LINE)
        self._colours = colours

    @override
    def format(self, record: logging.LogRecord) -> str:
        if record.name.startswith(ENTRIES) and not record.exc_info:
            text = printable(record.getMessage(), colours=True)
            if not self._colours:
                text = COLOUR.sub("", text)
        else:
            text = printable(super().format(record))
        first, *others = text.split("\n")
        return "\n".join(map(close_colours, (first, *map(_indented, others))))

    @override
    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = one_line(record.message.strip()) + _omitted(record)
        return super().formatMessage(record)


def text_formatter(color: str = "auto") -> TextFormatter:
    """Return the formatter of NODE_LOG_FORMAT `text`.

    Args:
        color: NODE_COLOR: `always`, `never`, or `auto`, if the terminal supports colours.
    """
    if color != "auto":
        return TextFormatter(colours=color == "always")
    return TextFormatter(colours=shows_colours(sys.stderr) and not os.environ.get("NO_COLOR"))


def shows_colours(stream: TextIO) -> bool:
    """Return whether a stream is a terminal with colours, or FORCE_COLOR says so (force-color.org)."""
    if not (os.environ.get("FORCE_COLOR") or stream.isatty()):
        return False
    return os.environ.get("TERM", "").lower() not in {"dumb", "unknown"}


def json_formatter() -> logging.Formatter:
    """Return the formatter of NODE_LOG_FORMAT `json`, which escapes all characters that are not ASCII."""
    import structlog

    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        processors=[
            _add_fields,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=True),
        ],
    )


@dataclass(slots=True)
class _CodePlace:
    """The records of one place in the code within a minute."""

    until: float
    written: int = 0
    omitted: int = 0


class RepeatFilter(logging.Filter):
    """Drops records that one place in the code logs more often than `REPEATS` times a minute.

    The next record of the place shows how many were dropped (`record.omitted`). Records below INFO pass, and so do
    entries, which have their own limit (`cchain_app.transaction_log.waiting`).

    Args:
        clock: Returns rising seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._places: dict[tuple[str, str, int], _CodePlace] = {}
        self._lock = threading.Lock()

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.INFO or record.name.startswith(ENTRIES):
            return True
        key, now = (record.name, record.pathname, record.lineno), self._clock()
        with self._lock:
            place = self._places.get(key)
            if place is None or now >= place.until:
                record.omitted = 0 if place is None else place.omitted
                place = self._places[key] = _CodePlace(now + REPEAT_SECONDS)
            elif place.written >= REPEATS:
                place.omitted += 1
                return False
            place.written += 1
            return True


def _indented(line: str) -> str:
    """Return a continuation line of a record, indented: only a record's first line begins at the margin."""
    return f"  {line}" if COLOUR.sub("", line)[:1].strip() else line


def _omitted(record: logging.LogRecord) -> str:
    count = getattr(record, "omitted", 0)
    return f" ({count} more like this before it were not logged)" if count else ""


def _add_fields(
    _logger: object, _name: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Replace an entry's text by its members."""
    record: logging.LogRecord = event["_record"]
    event.update(getattr(record, "fields", {}))
    if count := getattr(record, "omitted", 0):
        event["omitted"] = count
    return event
