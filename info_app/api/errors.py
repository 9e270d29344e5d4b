"""What can go wrong at this door and is expected: code -32000 and the failure's own words."""

from typing import Final

from info_app.identity import NoIdentity
from jsonrpc.errors import JsonRpcError
from platform_app.api import errors
from platform_app.api.errors import refused

EXPECTED: Final[tuple[type[Exception], ...]] = (NoIdentity,)
"""Besides what the P-Chain's door expects, which is asked for chains and validators here."""


def to_error_object(error: Exception) -> JsonRpcError | None:
    """Return the error object of an expected failure, None for an unexpected one."""
    if isinstance(error, EXPECTED):
        return refused(str(error))
    return errors.to_error_object(error)
