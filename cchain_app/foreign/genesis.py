"""Which chains of others cannot be executed anew here, by their genesis file. Pure."""

import json
from collections.abc import Mapping
from typing import Final

from cchain_app.genesis_fields import UnsupportedForkError, read_number, read_object

_SEALS: Final = ("clique", "parlia", "bor", "istanbul", "ibft", "qbft")
"""Keys of consensus engines that pay somebody whom only a block's seal names."""


def verify_supported(text: bytes) -> None:
    """Check that nothing in a genesis file, which `load_genesis` takes, asks for rules that there are not.

    Raises:
        UnsupportedForkError: Proof of authority, or the DAO fork.
        GenesisFileError: By another subclass: a field is malformed.
    """
    document = json.loads(text)
    config = read_object(document, "config")
    for key in _SEALS:
        if isinstance(config.get(key), Mapping):
            raise UnsupportedForkError(
                f"config.{key}: fees go to whom the block's seal names there, and seals are not read"
            )
    if config.get("daoForkSupport") and read_number(config, "daoForkBlock", "config.", default=0):
        raise UnsupportedForkError(
            "config.daoForkBlock: the DAO fork's irregular state change is not supported"
        )
