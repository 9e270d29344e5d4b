"""Where sources are sent: bodies may be longer there than at other pages."""

from typing import Final

SENDING_SOURCES: Final = ("/api", "/v2/api", "/v2/verify/", "/server/v2/verify/")
"""Beginnings of paths."""
