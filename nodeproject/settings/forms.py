"""The formats of settings that are more than a number or a choice."""

import re
from functools import partial
from typing import Final

from cchain_app.config import CHOSEN_FORKS, fork_named
from cchain_app.feemarket import MIN_GAS_LIMIT
from cchain_app.forking.errors import MalformedForkSetting
from cchain_app.forking.origin import read_hash, read_headers, read_wanted
from nodeproject.settings.flags import TextFormat


def _client_name(text: str) -> None:
    if not re.fullmatch(r"[!-~]{1,64}", text):
        raise ValueError


def _hardfork(text: str) -> None:
    if fork_named(text) is None:
        raise ValueError


def _gas_limit(number: int) -> None:
    if not MIN_GAS_LIMIT <= number < 2**63:
        raise ValueError


def _fork_url(text: str) -> None:
    try:
        read_wanted([text])
    except MalformedForkSetting as error:
        raise ValueError from error


def _transaction_hash(text: str) -> None:
    try:
        read_hash(text)
    except MalformedForkSetting as error:
        raise ValueError from error


def _header(text: str) -> None:
    try:
        read_headers([text])
    except MalformedForkSetting as error:
        raise ValueError from error


FORK_URL: Final = TextFormat("a URL like https://HOST/PATH or URL@BLOCK", _fork_url)
TRANSACTION_HASH: Final = TextFormat(
    "a transaction's hash, 0x and 64 hexadecimal digits", _transaction_hash
)
HEADER: Final = TextFormat("a header like NAME: VALUE", _header)
WHOLE: Final = TextFormat("a whole number", partial(int, base=0))
HARDFORK: Final = TextFormat(f"one of {', '.join(CHOSEN_FORKS)}", _hardfork)
GAS_LIMIT: Final = TextFormat(f"0, or a whole number from {MIN_GAS_LIMIT} to 2**63 - 1", _gas_limit)
CLIENT_NAME: Final = TextFormat("a name without blanks, of 64 characters at most", _client_name)
