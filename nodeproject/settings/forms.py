"""How the texts of settings have to be written that are more than a number or a choice."""

import re
from typing import Final

from cchain_app.config import CHOSEN_FORKS, fork_named
from cchain_app.feemarket import MINIMUM_GAS_LIMIT
from nodeproject.settings.flags import Form


def _client_name(text: str) -> None:
    if not re.fullmatch(r"[!-~]{1,64}", text):
        raise ValueError


def _hardfork(text: str) -> None:
    if fork_named(text) is None:
        raise ValueError


def _gas_limit(number: int) -> None:
    if not MINIMUM_GAS_LIMIT <= number < 2**63:
        raise ValueError


HARDFORK: Final = Form(f"one of {', '.join(CHOSEN_FORKS)}", _hardfork)
GAS_LIMIT: Final = Form(f"0, or a whole number from {MINIMUM_GAS_LIMIT} to 2**63 - 1", _gas_limit)
CLIENT_NAME: Final = Form("a name without blanks, of 64 characters at most", _client_name)
