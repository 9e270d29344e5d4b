"""Etherscan's modules `transaction` and `block`."""

from typing import Any, Final

from cchain_app.selectors import blocks
from explorer_app.api.replies import ActionError, ActionReason, ActionReply, Query, text_of
from explorer_app.selectors import cchain, ledger, mined, traces

RECENT: Final = 100
"""Number of blocks from which the time of a future block is estimated."""


def getstatus(query: Query) -> ActionReply:
    """Return whether a transaction failed, and the engine's error; an unknown transaction counts as not failed."""
    evm = query.site.evm
    tx_hash = query.hash()
    row = cchain.transaction(evm, tx_hash)
    if row is None or row.succeeded:
        return ActionReply.ok({"isError": "0", "errDescription": ""})
    trace = traces.traced_in_turn(evm, query.site.executing, row.number, row.position).trace
    why = None if trace is None else trace.error
    return ActionReply.ok({"isError": "1", "errDescription": why or "execution failed"})


def gettxreceiptstatus(query: Query) -> ActionReply:
    """Return 1 for a successful transaction, 0 for a failed one, and an empty text for an unknown one."""
    receipt = ledger.receipt(query.site.evm, query.hash())
    return ActionReply.ok({"status": "" if receipt is None else str(int(receipt[1]))})


def getblockreward(query: Query) -> ActionReply:
    """Return the reward of a block's coinbase: the tips."""
    evm = query.site.evm
    number = query.number("blockno")
    row = cchain.block(evm, number) if number <= blocks.head(evm).number else None
    if row is None:
        raise ActionError(ActionReason.NO_SUCH_BLOCK)
    return ActionReply.ok(
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


def getblockcountdown(query: Query) -> ActionReply:
    """Return the time until a height, estimated from the rate of the last hundred blocks."""
    evm = query.site.evm
    head = blocks.head(evm)
    number = query.number("blockno")
    if number <= head.number:
        raise ActionError(ActionReason.BLOCK_PASSED)
    recent = cchain.blocks(evm, count=RECENT)
    steps = max(1, recent[0].number - recent[-1].number)
    seconds = (recent[0].timestamp - recent[-1].timestamp) / steps
    left = number - head.number
    return ActionReply.ok(
        {
            "CurrentBlock": str(head.number),
            "CountdownBlock": str(number),
            "RemainingBlock": str(left),
            "EstimateTimeInSec": f"{left * seconds:.1f}",
        }
    )


def getblocknobytime(query: Query) -> ActionReply:
    """Return the height of the block closest to a time: before it (the default) or after it, as `closest` says."""
    before = query.text("closest").lower() != "after"
    timestamp = min(query.number("timestamp"), 2**63 - 1)
    block: Any = ledger.block_at(query.site.evm, timestamp, before=before)
    if block is None:
        raise ActionError(ActionReason.NO_SUCH_BLOCK)
    return ActionReply.ok(str(block))


OF_TRANSACTIONS: Final = {action.__name__: action for action in (getstatus, gettxreceiptstatus)}
ACTIONS: Final = {
    action.__name__: action for action in (getblockreward, getblockcountdown, getblocknobytime)
}
