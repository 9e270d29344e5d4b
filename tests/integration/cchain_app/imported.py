"""go-ethereum's chain of the tracing vectors in this node's database: its blocks executed and stored one by one."""

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.assembly import assemble, env_of
from cchain_app.blocks.candidate import CandidateBlock, parse_block
from cchain_app.chain import EvmChain
from cchain_app.processing import VerifiedBlock
from cchain_app.selectors import blocks
from cchain_app.selectors.state import state_at
from cchain_app.services.genesis import load_genesis
from cchain_app.store import chain as stored
from cchain_app.store.evm_state import NodeRows
from cchain_app.txs.codec import decode_transaction
from primitives import rlp
from tests.conformance.evm.tracing_vectors import VECTORS

GENESIS = str(VECTORS / "genesis.json")


def import_vectors(chain: EvmChain) -> None:
    """Store all blocks of the vectors, on the genesis that the chain was given (`GENESIS`)."""
    parent = load_genesis(chain)
    data, start = (VECTORS / "chain.rlp").read_bytes(), 0
    with chain.db.atomic():
        while start < len(data):
            _, stop = rlp.read_item(data, start, len(data))
            parent = _store(chain, parent, parse_block(data[start:stop]))
            start = stop
    blocks.catch_up(chain)


def _store(chain: EvmChain, parent: AcceptedBlock, given: CandidateBlock) -> AcceptedBlock:
    env = env_of(given.header, chain.config)
    transactions = [decode_transaction(raw, chain.config.chain_id) for raw in given.transactions]
    state = state_at(chain, parent.number)
    executed = chain.engine.execute_block(env, transactions, state, skip_invalid=False)
    update = chain.trie.update(parent.header.state_root, executed.changes, NodeRows(chain.db))
    block = assemble(
        env,
        transactions,
        executed,
        state_root=update.root,
        ordered_root=chain.trie.ordered_root,
        extra_data=given.header.extra_data,
    )
    assert block.hash == given.hash, block.number
    stored.commit(chain.db, [VerifiedBlock(block, executed, update)], keeps_tries=chain.keeps_tries)
    return block
