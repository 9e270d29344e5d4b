"""The first rows of an X-Chain, from the genesis bytes in the P-Chain's genesis."""

import logging

from primitives.counting import counted
from xchain_app.chain import AvmChain
from xchain_app.genesis.genesis import parse_genesis
from xchain_app.store import blocks
from xchain_app.store.blocks import StoredXChain

_log = logging.getLogger(__name__)


def load_genesis(chain: AvmChain) -> StoredXChain:
    """Write the genesis block and its state, unless they are stored; return the chain.

    The P-Chain may have any height: data directories of versions without an X-Chain get it at their next start.

    Raises:
        NoXChain: The database holds no P-Chain yet.
        CodecError: The genesis bytes in the P-Chain's genesis are not an X-Chain genesis.
        AvmGenesisError: They create no asset, or one with base outputs.
    """
    with chain.db.atomic(durable=True):
        chain.db.acquire(chain.lock)
        stored = blocks.read(chain.db)
        if stored is not None:
            return stored[0]
        genesis = parse_genesis(chain.genesis_bytes, chain.blockchain_id)
        blocks.begin(chain.db, genesis)
        outputs = sum(1 for _ in genesis.utxos())
        _log.info(
            "created the X-Chain %s with %s and %s",
            chain.blockchain_id, counted(len(genesis.assets), "asset"), counted(outputs, "output"),
        )  # fmt: skip
        return StoredXChain(genesis.chain_id, genesis.fee_asset_id, genesis.block.parent_id)
