"""Etherscan's modules `transaction` and `block`."""

from typing import Any, ClassVar, Final

from cchain_app.selectors import blocks
from explorer_app.api.replies import ActionError, Query, Reply, text_of
from explorer_app.selectors import cchain, ledger, mined, traces

RECENT: Final = 100
"""Blocks by which the time of one to come is estimated."""


class NoSuchBlock(ActionError):
    """A height above the head, or a time without a block."""

    text: ClassVar[str] = "Error! No closest block found"


class BlockPassed(ActionError):
    """A height that is not to come."""

    text: ClassVar[str] = "Error! Block number already pass"


def getstatus(query: Query) -> Reply:
    """Return whether a transaction failed, and why, in the engine's words; what is unknown has not failed."""
    evm = query.site.evm
    tx_hash = query.hash()
    row = cchain.transaction(evm, tx_hash)
    if row is None or row.succeeded:
        return Reply.ok({"isError": "0", "errDescription": ""})
    trace = traces.traced_in_turn(evm, query.site.executing, row.number, row.position).trace
    why = None if trace is None else trace.error
    return Reply.ok({"isError": "1", "errDescription": why or "execution failed"})


def gettxreceiptstatus(query: Query) -> Reply:
    """Return 1 of a transaction that succeeded, 0 of one that failed, nothing of one that nobody knows."""
    found = ledger.receipt(query.site.evm, query.hash())
    return Reply.ok({"status": "" if found is None else str(int(found[1]))})


def getblockreward(query: Query) -> Reply:
    """Return what a block paid its coinbase: the tips."""
    evm = query.site.evm
    number = query.number("blockno")
    row = cchain.block(evm, number) if number <= blocks.head(evm).number else None
    if row is None:
        raise NoSuchBlock
    return Reply.ok(
        {
            "blockNumber": str(row.number),
            "timeStamp": str(row.timestamp),
            "blockMiner": text_of(row.miner),
            "blockReward": str(mined.tips(evm, [number])[number]),
            "uncles": [],
            "uncleInclusionReward": "0",
            "uncleRewards": "0",
        }
    )


def getblockcountdown(query: Query) -> Reply:
    """Return how long it is to a height, if blocks come as the last hundred did."""
    evm = query.site.evm
    head = blocks.head(evm)
    wanted = query.number("blockno")
    if wanted <= head.number:
        raise BlockPassed
    recent = cchain.blocks(evm, count=RECENT)
    steps = max(1, recent[0].number - recent[-1].number)
    seconds = (recent[0].timestamp - recent[-1].timestamp) / steps
    left = wanted - head.number
    return Reply.ok(
        {
            "CurrentBlock": str(head.number),
            "CountdownBlock": str(wanted),
            "RemainingBlock": str(left),
            "EstimateTimeInSec": f"{left * seconds:.1f}",
        }
    )


def getblocknobytime(query: Query) -> Reply:
    """Return the height of the block next to a time: with `closest` before (the default) or after it."""
    before = query.text("closest").lower() != "after"
    timestamp = min(query.number("timestamp"), 2**63 - 1)
    found: Any = ledger.block_at(query.site.evm, timestamp, before=before)
    if found is None:
        raise NoSuchBlock
    return Reply.ok(str(found))


OF_TRANSACTIONS: Final = {one.__name__: one for one in (getstatus, gettxreceiptstatus)}
ACTIONS: Final = {
    one.__name__: one for one in (getblockreward, getblockcountdown, getblocknobytime)
}
