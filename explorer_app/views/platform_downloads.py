"""Lists of the P-Chain as CSV files: transactions, blocks, validators and the staking periods that end next."""

from django.http import HttpRequest

from adminkit.formats import format_iso
from explorer_app.selectors import platform, staking
from explorer_app.site import Explorer
from explorer_app.views.csv_lists import CsvList, CsvPart, listed, of_node, units


@of_node
def transactions(site: Explorer, _request: HttpRequest) -> CsvList:
    """Return the P-Chain's transactions."""
    unit = site.platform.network().unit

    def read(before: int | None, count: int) -> CsvPart:
        found = platform.txs(site.platform, before=before, count=count)
        rows = [
            (
                row.id,
                (
                    row.tx_id, row.kind, row.height, format_iso(row.time),
                    "committed" if row.committed else "aborted", units(row.burned, unit),
                ),
            )
            for row in found
        ]  # fmt: skip
        return listed(rows, count)

    headings = ("Transaction", "Type", "Block", "Time", "State", f"Burned {site.node.coin_symbol}")
    return CsvList("p-chain-transactions", headings, read)


@of_node
def blocks(site: Explorer, _request: HttpRequest) -> CsvList:
    """Return the P-Chain's blocks."""

    def read(before: int | None, count: int) -> CsvPart:
        found = platform.blocks(site.platform, before=before, count=count)
        rows = [
            (
                row.height,
                (
                    row.height, row.block_id, format_iso(row.time), row.get_kind_display(), row.tx_count,
                ),
            )
            for row in found
        ]  # fmt: skip
        return listed(rows, count)

    return CsvList("p-chain-blocks", ("Block", "ID", "Chain time", "Type", "Transactions"), read)


@of_node
def validators(site: Explorer, _request: HttpRequest) -> CsvList:
    """Return the current validators of the Primary Network by stake; a file continues after a rank (`?before=`)."""
    unit = site.platform.network().unit
    everybody = staking.validators(site.platform)

    def read(before: int | None, count: int) -> CsvPart:
        first = before or 0
        rows = [
            (
                row.rank,
                (
                    row.rank, row.node, units(row.stake, unit), row.validator.delegator_count,
                    "" if row.validator.shares is None else f"{row.validator.shares / 10_000:g}",
                    units(row.capacity, unit),
                    "" if row.uptime is None else f"{100 * row.uptime:.2f}",
                    format_iso(row.validator.end),
                ),
            )
            for row in everybody[first : first + count]
        ]  # fmt: skip
        return listed(rows, count)

    symbol = site.node.coin_symbol
    headings = (
        "Rank", "NodeID", f"Stake {symbol}", "Delegators", "Delegation fee %", f"Capacity left {symbol}",
        "Uptime %", "Ends",
    )  # fmt: skip
    return CsvList("validators", headings, read)


@of_node
def calendar(site: Explorer, _request: HttpRequest) -> CsvList:
    """Return the current staking periods in the order of their ends; a file continues after a place (`?before=`)."""
    unit = site.platform.network().unit

    def read(before: int | None, count: int) -> CsvPart:
        first = before or 0
        rows = [
            (
                place,
                (
                    format_iso(row.end_time), row.node, "delegator" if row.is_delegator else "validator",
                    units(row.weight, unit), units(row.potential_reward, unit), row.tx_id,
                ),
            )
            for place, row in enumerate(staking.ending(site.platform, after=first, count=count), first + 1)
        ]  # fmt: skip
        return listed(rows, count)

    symbol = site.node.coin_symbol
    headings = (
        "Ends",
        "NodeID",
        "Role",
        f"Stake {symbol}",
        f"Potential reward {symbol}",
        "Transaction",
    )
    return CsvList("staking-periods", headings, read)
