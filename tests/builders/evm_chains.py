"""EVM chains in the database: their blocks as values, and the same chain in another process."""

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from cchain_app.services.runtime import EvmRuntime


def produce(runtime: EvmRuntime, *, now: int, allow_empty: bool = False) -> AcceptedBlock | None:
    """Let a chain's consensus produce a block; return the accepted block."""
    made = runtime.consensus.produce(now=now, allow_empty=allow_empty)
    return None if made is None else blocks.by_number(runtime.chain, made.height)


def another_process(chain: EvmChain) -> EvmRuntime:
    """Return a chain as another process of the node has it: the same rows, with empty caches."""
    return EvmRuntime(
        EvmChain(
            chain.node,
            chain.settings,
            chain.db,
            aliases=chain.aliases,
            blockchain_id=lambda: chain.blockchain_id,
            genesis_file=chain.genesis_file,
        )
    )
