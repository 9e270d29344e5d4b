"""Gas prices, the suggested tip and the fee history. The arithmetic is in `feemarket`."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from cchain_app import feemarket
from cchain_app.api import block_tags
from cchain_app.api.errors import server_error
from cchain_app.api.params.values import BlockNumber, Tag
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.feemarket import BlockFees
from cchain_app.selectors import blocks
from cchain_app.selectors.blocks import base_fee_after
from chaindb import clock
from chaindb.connections import WouldBlock, on_event_loop
from primitives.hexadecimal import encode_quantity

MAX_HISTORY: Final = 1024
"""Maximum number of blocks in one fee history, as in geth."""

CORETH_MAX_HISTORY: Final = 2048
"""The same on a chain of coreth."""

HISTORY_ON_EVENT_LOOP: Final = 32
"""Maximum number of blocks of a fee history that is computed on the event loop."""

TRANSACTIONS_ON_EVENT_LOOP: Final = 4_000
"""Maximum number of transactions in those blocks whose tips are not in memory yet, about a millisecond's work."""

Tips = dict[str, str]


def gas_price(rpc: EvmRpc) -> str:
    """eth_gasPrice: the suggested tip plus the base fee, in wei.

    Unspecified: the base fee is the next block's, as in coreth, because a transaction with a lower price is not mined;
    or the head's if that is higher, as in geth, because an estimate at the head fails with a lower price. Where the base
    fee falls with time it is always that of a block made now, as in coreth.
    """
    base = next_base_fee(rpc)
    if not rpc.chain.rules.fees_follow_time:
        base = max(base, blocks.head(rpc.chain).header.base_fee or 0)
    return encode_quantity(suggested_tip(rpc) + base)


def max_priority_fee_per_gas(rpc: EvmRpc) -> str:
    """eth_maxPriorityFeePerGas: the suggested tip, in wei."""
    return encode_quantity(suggested_tip(rpc))


def base_fee(rpc: EvmRpc) -> str:
    """eth_baseFee: the next block's base fee, in wei."""
    return encode_quantity(next_base_fee(rpc))


def blob_base_fee(rpc: EvmRpc) -> str:
    """eth_blobBaseFee: the next block's price of blob gas, in wei; 1 if no blobs were ever used."""
    head = blocks.head(rpc.chain)
    return encode_quantity(rpc.chain.rules.blob_base_fee_after(head, head.header.timestamp))


def suggest_price_options(rpc: EvmRpc) -> dict[str, Tips]:
    """eth_suggestPriceOptions: slow, normal and fast fees, calculated as in coreth."""
    tip, base, options = suggested_tip(rpc), next_base_fee(rpc), rpc.chain.settings.price_options
    normal = min(tip, options.max_tip)
    return {
        "slow": _option(max(normal * options.slow_fee_percentage // 100, 1), base),
        "normal": _option(normal, base),
        "fast": _option(tip * options.fast_fee_percentage // 100, base),
    }


def fee_history(
    rpc: EvmRpc, count: int, newest: BlockNumber, percentiles: Sequence[float] | None
) -> dict[str, Any]:
    """eth_feeHistory: base fees, gas used ratios and tips of consecutive blocks.

    Unspecified: at most 1024 blocks, as in geth, on a chain of coreth 2048; fewer if the chain is shorter. The pending block counts as one of
    them. Blob fields are left out on chains without blob transactions.

    Raises:
        JsonRpcError: -32000, the newest block is above the head.
        InvalidPercentiles: The percentiles are out of range or order.
        WouldBlock: There are too many blocks or transactions for the event loop.
    """
    if count < 1:
        return {"oldestBlock": "0x0", "gasUsedRatio": None}
    feemarket.check_percentiles(percentiles or ())
    pending = rpc.pending.current() if newest is Tag.PENDING else None
    head = blocks.head(rpc.chain).number
    last = block_tags.height_of(rpc, newest) if pending is None else pending.number
    if last > head and pending is None:
        raise server_error(f"request beyond head block: requested {last}, head {head}")
    most = CORETH_MAX_HISTORY if rpc.chain.is_of_coreth else MAX_HISTORY
    first = max(last - min(count, most) + 1, rpc.chain.first_number)
    accepted = range(first, last + 1 if pending is None else last)
    fees = _fees_of_blocks(rpc, accepted)
    if pending is not None:
        fees.append(feemarket.block_fees(pending))
    newest_block = _accepted(rpc, last) if pending is None else pending
    following = (
        _accepted(rpc, last + 1).header.base_fee
        if last < head
        else base_fee_after(rpc.chain, newest_block)
    )
    history = feemarket.fee_history(fees, following or 0, percentiles)
    # coreth's list ends with the newest block's fee: the next block's depends on when it is made.
    base_fees = history.base_fees[: len(fees) if rpc.chain.is_of_coreth else None]
    answer: dict[str, Any] = {
        "oldestBlock": encode_quantity(history.oldest_block),
        "baseFeePerGas": [encode_quantity(fee) for fee in base_fees],
        "gasUsedRatio": list(history.gas_used_ratios),
    }
    if history.rewards is not None:
        answer["reward"] = [[encode_quantity(tip) for tip in tips] for tips in history.rewards]
    if rpc.chain.config.blob_transactions:
        answer |= _of_blobs(rpc, accepted, pending, newest_block)
    return answer


def _of_blobs(
    rpc: EvmRpc, accepted: range, pending: AcceptedBlock | None, newest: AcceptedBlock
) -> dict[str, Any]:
    """Return the members for blob gas: the prices of the blocks and of the one after them, and the used ratios."""
    chain = rpc.chain
    if len(accepted) > HISTORY_ON_EVENT_LOOP:
        stored = blocks.stored_fees(chain, accepted.start, accepted.stop - 1)
        fees = [fees.blobs for fees in stored]
    else:
        fees = [blocks.blob_fees_of(chain, _accepted(rpc, number)) for number in accepted]
    if pending is not None:
        fees.append(blocks.blob_fees_of(chain, pending))
    following = chain.rules.blob_base_fee_after(newest, newest.header.timestamp)
    return {
        "baseFeePerBlobGas": [
            *(encode_quantity(fee.base_fee) for fee in fees),
            encode_quantity(following),
        ],
        "blobGasUsedRatio": [fee.used_ratio for fee in fees],
    }


def _fees_of_blocks(rpc: EvmRpc, numbers: range) -> list[BlockFees]:
    """Return the fees of accepted blocks.

    Raises:
        WouldBlock: There are too many blocks or transactions for the event loop.
    """
    if len(numbers) > HISTORY_ON_EVENT_LOOP:
        if on_event_loop():
            raise WouldBlock
        stored = blocks.stored_fees(rpc.chain, numbers.start, numbers.stop - 1)
        return [fees.block for fees in stored]
    found = [_accepted(rpc, number) for number in numbers]
    new = sum(len(block.transactions) for block in found if block.hash not in rpc.fees)
    if new > TRANSACTIONS_ON_EVENT_LOOP and on_event_loop():
        raise WouldBlock
    return [rpc.fees.of(block.hash, partial(feemarket.block_fees, block)) for block in found]


def _option(tip: int, base: int) -> Tips:
    return {
        "maxPriorityFeePerGas": encode_quantity(tip),
        "maxFeePerGas": encode_quantity(2 * base + tip),
    }


def next_base_fee(rpc: EvmRpc) -> int:
    """Return the next block's base fee in wei; 0 before London."""
    return base_fee_after(rpc.chain, blocks.head(rpc.chain)) or 0


def suggested_tip(rpc: EvmRpc) -> int:
    """Return the suggested tip in wei: by recent blocks, unless a setting names it.

    Unspecified: before London NODE_GAS_PRICE is the whole price, as in Anvil.
    """
    head, settings = blocks.head(rpc.chain), rpc.chain.settings
    if settings.gas_price >= 0 and base_fee_after(rpc.chain, head) is None:
        return settings.gas_price
    if not settings.suggest_tip:
        return 0
    return rpc.tips.of(head.hash, lambda: _tip_after(rpc, head))


def _tip_after(rpc: EvmRpc, head: AcceptedBlock) -> int:
    if rpc.chain.is_of_coreth:
        return _coreth_tip_after(rpc, head)
    first = max(head.number - feemarket.SAMPLED_BLOCKS + 1, rpc.chain.first_number)
    sampled = (_accepted(rpc, number) for number in range(first, head.number + 1))
    tips = [rpc.low_tips.of(block.hash, partial(feemarket.low_tips, block)) for block in sampled]
    return feemarket.suggest_tip(tips, floor=max(rpc.chain.settings.pool.min_tip, 1))


def _coreth_tip_after(rpc: EvmRpc, head: AcceptedBlock) -> int:
    """Return the tip that coreth suggests; without recent tips the last suggestion of this process."""
    recent, new = [], 0
    oldest = clock.cchain_now() - feemarket.CORETH_SAMPLED_SECONDS
    stop = max(head.number - feemarket.CORETH_SAMPLED_BLOCKS, 0)
    for number in range(head.number, stop, -1):
        block = _accepted(rpc, number)
        if block.header.timestamp < oldest:
            break
        recent.append(block)
        new += 0 if block.hash in rpc.low_tips else len(block.transactions)
    if new > TRANSACTIONS_ON_EVENT_LOOP and on_event_loop():
        raise WouldBlock
    tips = [
        tip
        for block in recent
        for tip in rpc.low_tips.of(block.hash, partial(feemarket.every_tip, block))
    ]
    floor = max(rpc.chain.settings.pool.min_tip, 1)
    rpc.last_tip = feemarket.suggest_tip_of_coreth(tips, rpc.last_tip, floor)
    return rpc.last_tip


def _accepted(rpc: EvmRpc, number: int) -> AcceptedBlock:
    """Return the block at a height, which must not be above the head."""
    block = blocks.by_number(rpc.chain, number)
    assert block is not None, "below the head"
    return block
