"""Paths to which sources are sent: the size limit of bodies is higher there than elsewhere."""

from typing import Final

SENDING_SOURCES: Final = ("/api", "/v2/api", "/v2/verify/", "/server/v2/verify/")
"""Prefixes of these paths."""
