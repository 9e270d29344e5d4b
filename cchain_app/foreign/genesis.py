"""Checks whether a chain of another implementation can be imported, by its genesis file. Pure."""

import json
from collections.abc import Mapping
from typing import Final

from cchain_app.genesis_fields import GenesisFileError, read_number, read_object

_SEALS: Final = ("clique", "parlia", "bor", "istanbul", "ibft", "qbft")
"""Keys of consensus engines that pay fees to an account that only the block's seal identifies."""


def verify_supported(text: bytes) -> None:
    """Check that a genesis file that `load_genesis` accepts requires no unsupported rules.

    Raises:
        GenesisFileError: The chain has proof of authority, or the DAO fork.
        GenesisFileError: By another subclass: a field is malformed.
    """
    document = json.loads(text)
    config = read_object(document, "config")
    for key in _SEALS:
        if isinstance(config.get(key), Mapping):
            raise GenesisFileError(
                f"config.{key}: fees go to whom the block's seal names there, and seals are not read"
            )
    if config.get("daoForkSupport") and read_number(config, "daoForkBlock", "config.", default=0):
        raise GenesisFileError(
            "config.daoForkBlock: the DAO fork's irregular state change is not supported"
        )
