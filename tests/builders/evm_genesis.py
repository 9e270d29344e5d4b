"""Genesis files of EVM chains for tests."""

import json
from collections.abc import Callable

from cchain_app.genesis import built_in_text
from tests.builders.transactions import SENDER


def genesis_of(chain_id: int, balance: int) -> Callable[[], bytes]:
    """Return a reader of the local network's genesis file with another chain ID and one rich account."""
    document = json.loads(built_in_text("local"))
    document["config"]["chainId"] = chain_id
    document["timestamp"] = hex(1_700_000_000 + chain_id)
    document["alloc"] = {"0x" + SENDER.hex(): {"balance": hex(balance)}}
    return json.dumps(document).encode
