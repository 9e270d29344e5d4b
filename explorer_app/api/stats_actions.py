"""Etherscan's modules `stats` and `gastracker`: supply, price, and what gas costs."""

from collections.abc import Callable
from typing import ClassVar, Final

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from explorer_app.api.proxy_actions import ask_for_text
from explorer_app.api.replies import ActionError, Query, Reply, TooMuch
from explorer_app.selectors import cchain, supply

GWEI: Final = 10**9
RECENT: Final = 5
"""Blocks whose share of used gas is told."""


class SupplyUnknown(ActionError):
    """Nobody here knows all of a fork's accounts."""

    text: ClassVar[str] = (
        "Error! This chain is a fork: it does not have all accounts, so their sum is not known"
    )


def ethsupply(query: Query) -> Reply:
    """Return how much of the coin there is, in wei: the sum of all balances."""
    return Reply.ok(str(_summed(supply.total, query)))


def ethsupply2(query: Query) -> Reply:
    """Return the same with what was burnt of it, and what other chains have beside it, which is nothing here."""
    return Reply.ok(
        {
            "EthSupply": str(_summed(supply.total, query)),
            "Eth2Staking": "0",
            "BurntFees": str(_summed(supply.burnt, query)),
            "WithdrawnTotal": "0",
        }
    )


def ethprice(query: Query) -> Reply:
    """Return zeros: nobody here knows a price."""
    now = str(blocks.head(query.site.evm).header.timestamp)
    return Reply.ok(
        {"ethbtc": "0", "ethbtc_timestamp": now, "ethusd": "0", "ethusd_timestamp": now}
    )


def nodecount(query: Query) -> Reply:
    """Return that this node is there: of others only its own peers are known, which is nobody's business."""
    timestamp = blocks.head(query.site.evm).header.timestamp
    return Reply.ok({"UTCDate": str(timestamp), "TotalNodeCount": "1"})


def gasoracle(query: Query) -> Reply:
    """Return what gas costs, in gwei: the next block's base fee with half of the usual tip, with it, and with twice it."""
    evm = query.site.evm
    price, tip = (_number(query, name) for name in ("eth_gasPrice", "eth_maxPriorityFeePerGas"))
    base = max(0, price - tip)
    recent = cchain.blocks(evm, count=RECENT)
    return Reply.ok(
        {
            "LastBlock": str(blocks.head(evm).number),
            "SafeGasPrice": _gwei(base + tip // 2),
            "ProposeGasPrice": _gwei(base + tip),
            "FastGasPrice": _gwei(base + 2 * tip),
            "suggestBaseFee": _gwei(base),
            "gasUsedRatio": ",".join(f"{one.gas_used / one.gas_limit:.6f}" for one in recent),
        }
    )


def gasestimate(query: Query) -> Reply:
    """Return in how many seconds a price in wei gets in: with the next block if it pays its base fee.

    Unspecified: one that does not is told an hour.
    """
    price, tip = (_number(query, name) for name in ("eth_gasPrice", "eth_maxPriorityFeePerGas"))
    recent = cchain.blocks(query.site.evm)
    steps = max(1, len(recent) - 1)
    seconds = (recent[0].timestamp - recent[-1].timestamp) // steps
    return Reply.ok(str(max(1, seconds) if query.number("gasprice") >= price - tip else 3600))


def _summed(add: Callable[[EvmChain], int], query: Query) -> int:
    """Return a sum over all rows; refused where they are many, or not all there are."""
    try:
        return add(query.site.evm)
    except supply.TooManyRows as error:
        raise TooMuch from error
    except supply.OnlyPart as error:
        raise SupplyUnknown from error


def _number(query: Query, method: str) -> int:
    return int(ask_for_text(query, method, []) or "0x0", 16)


def _gwei(wei: int) -> str:
    whole, rest = divmod(wei, GWEI)
    return f"{whole}.{rest:09d}"


ACTIONS: Final = {one.__name__: one for one in (ethsupply, ethsupply2, ethprice, nodecount)}
OF_GAS: Final = {one.__name__: one for one in (gasoracle, gasestimate)}
