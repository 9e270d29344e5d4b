"""The JSON form of blocks, as platform.getBlock shows them with encoding `json` (pchain.md 3.1)."""

from collections.abc import Callable
from typing import Any

from platform_app.blocks.block import Block
from platform_app.txs.render import Addresses, Json, render_tx


def render_block(block: Block, addresses: Addresses) -> Json:
    """Return a block as JSON: the fields of its type, and its ID."""
    shown: Json = {}
    for name in block.LAYOUT:
        key, render = _SHAPES[name]
        shown[key] = render(block, addresses)
        if name == "height":
            shown["id"] = str(block.block_id)
    return shown


_SHAPES: dict[str, tuple[str, Callable[[Any, Addresses], Any]]] = {
    "time": ("time", lambda block, _: block.time),
    "height": ("height", lambda block, _: block.height),
    "parent_id": ("parentID", lambda block, _: str(block.parent_id)),
    "txs": ("txs", lambda block, addresses: [render_tx(tx, addresses) for tx in block.txs]),
    "tx": ("tx", lambda block, addresses: render_tx(block.tx, addresses)),
    "proposal": ("tx", lambda block, addresses: render_tx(block.proposal, addresses)),
}
