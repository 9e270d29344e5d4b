"""How lines of the log look: for people, with colours on a terminal, or an object of JSON on each line."""

import logging
from collections.abc import MutableMapping
from typing import Any, Final

from typing_extensions import override

from cchain_app.transaction_log.text import COLOUR

ENTRIES: Final = "node."
"""What loggers of entries begin with: those say all by themselves, so that nothing stands in front."""

LINE: Final = "%(asctime)s %(levelname)-7s %(name)s  %(message)s"


class TextFormatter(logging.Formatter):
    """Lines for people.

    Args:
        colours: Whether who reads them sees colours.
    """

    def __init__(self, *, colours: bool) -> None:
        super().__init__(LINE)
        self._colours = colours

    @override
    def format(self, record: logging.LogRecord) -> str:
        is_entry = record.name.startswith(ENTRIES) and not record.exc_info
        text = record.getMessage() if is_entry else super().format(record)
        return text if self._colours else COLOUR.sub("", text)


def text_formatter() -> TextFormatter:
    """Return the formatter of NODE_LOG_FORMAT `text`: colours are for a terminal that wants some."""
    from rich.console import Console

    console = Console(stderr=True)
    return TextFormatter(colours=console.color_system is not None and not console.no_color)


def json_formatter() -> logging.Formatter:
    """Return the formatter of NODE_LOG_FORMAT `json`."""
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
            structlog.processors.JSONRenderer(),
        ],
    )


def _add_fields(
    _logger: object, _name: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Put an entry's members in place of its text."""
    record: logging.LogRecord = event["_record"]
    event.update(getattr(record, "fields", {}))
    return event
