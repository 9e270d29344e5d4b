"""Etherscan's modules `stats` and `gastracker`: supply, coin price and gas prices."""

from collections.abc import Callable
from typing import Final

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from explorer_app.api.chain_actions import ask_for_text
from explorer_app.api.replies import ActionError, ActionReason, ActionReply, Query
from explorer_app.selectors import cchain, statistics, sums
from explorer_app.selectors.statistics import SummaryState
from explorer_app.services.statistics import wait_for_summaries

GWEI: Final = 10**9
RECENT: Final = 5
"""Number of blocks whose ratio of used gas is returned."""


def ethsupply(query: Query) -> ActionReply:
    """Return the supply of the coin in wei: the sum of all balances."""
    state = _summaries(query)
    supply = _summed(sums.total_supply, query) if state is None else state.supply
    return ActionReply.ok(str(supply))


def ethsupply2(query: Query) -> ActionReply:
    """Return the supply, the burnt fees, and zeros for amounts that only exist on other chains."""
    state, evm = _summaries(query), query.site.evm
    if state is None:
        supply, burnt = _summed(sums.total_supply, query), _summed(sums.burnt_fees, query)
    else:
        supply, burnt = state.supply, statistics.burnt_fees(evm)
    return ActionReply.ok(
        {
            "EthSupply": str(supply),
            "Eth2Staking": "0",
            "BurntFees": str(burnt),
            "WithdrawnTotal": "0",
        }
    )


def ethprice(query: Query) -> ActionReply:
    """Return zeros: this node does not know a price."""
    now = str(blocks.head(query.site.evm).header.timestamp)
    return ActionReply.ok(
        {"ethbtc": "0", "ethbtc_timestamp": now, "ethusd": "0", "ethusd_timestamp": now}
    )


def nodecount(query: Query) -> ActionReply:
    """Return 1, for this node: it knows only its own peers of the network, and those are not public."""
    timestamp = blocks.head(query.site.evm).header.timestamp
    return ActionReply.ok({"UTCDate": str(timestamp), "TotalNodeCount": "1"})


def gasoracle(query: Query) -> ActionReply:
    """Return gas prices in gwei: the next block's base fee plus half the usual tip, plus the tip, plus twice the tip."""
    evm = query.site.evm
    price, tip = (_number(query, name) for name in ("eth_gasPrice", "eth_maxPriorityFeePerGas"))
    base = max(0, price - tip)
    recent = cchain.blocks(evm, count=RECENT)
    return ActionReply.ok(
        {
            "LastBlock": str(blocks.head(evm).number),
            "SafeGasPrice": _gwei(base + tip // 2),
            "ProposeGasPrice": _gwei(base + tip),
            "FastGasPrice": _gwei(base + 2 * tip),
            "suggestBaseFee": _gwei(base),
            "gasUsedRatio": ",".join(f"{block.gas_used / block.gas_limit:.6f}" for block in recent),
        }
    )


def gasestimate(query: Query) -> ActionReply:
    """Return in how many seconds a transaction with a price in wei is mined: in the next block if it pays the base fee.

    Unspecified: for a price below the base fee the answer is an hour.
    """
    price, tip = (_number(query, name) for name in ("eth_gasPrice", "eth_maxPriorityFeePerGas"))
    recent = cchain.blocks(query.site.evm)
    steps = max(1, len(recent) - 1)
    seconds = (recent[0].timestamp - recent[-1].timestamp) // steps
    return ActionReply.ok(str(max(1, seconds) if query.number("gasprice") >= price - tip else 3600))


def _summaries(query: Query) -> SummaryState | None:
    """Return the state of the summaries if they contain all accounts and blocks; else None: rows have to be added up."""
    site = query.site
    if not site.summarises or site.evm.fork is not None:
        return None
    state = wait_for_summaries(site)
    is_current = state.has_all_accounts and min(state.counted, state.copied) >= state.head
    return state if is_current else None


def _summed(add: Callable[[EvmChain], int], query: Query) -> int:
    """Return a sum over all rows; refused if there are too many, or if the node does not have all of them."""
    try:
        return add(query.site.evm)
    except sums.TooManyRows as error:
        raise ActionError(ActionReason.TOO_MUCH) from error
    except sums.PartialState as error:
        raise ActionError(ActionReason.SUPPLY_UNKNOWN) from error


def _number(query: Query, method: str) -> int:
    return int(ask_for_text(query, method, []) or "0x0", 16)


def _gwei(wei: int) -> str:
    whole, remainder = divmod(wei, GWEI)
    return f"{whole}.{remainder:09d}"


ACTIONS: Final = {
    action.__name__: action for action in (ethsupply, ethsupply2, ethprice, nodecount)
}
OF_GAS: Final = {action.__name__: action for action in (gasoracle, gasestimate)}
