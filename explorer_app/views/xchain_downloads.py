"""Lists of the X-Chain as CSV files: transactions and blocks."""

from django.http import HttpRequest

from adminkit.formats import format_iso
from explorer_app.selectors import moves, xchain
from explorer_app.site import Explorer
from explorer_app.views.csv_lists import CsvList, CsvPart, listed, of_xchain, units
from primitives.ids import ID


@of_xchain
def transactions(site: Explorer, _request: HttpRequest) -> CsvList:
    """Return the X-Chain's transactions."""
    unit = site.platform.network().unit
    letters = moves.letters(site.platform)

    def other(chain_id: ID | None) -> str:
        return "" if chain_id is None else letters.get(chain_id, str(chain_id))

    def read(before: int | None, count: int) -> CsvPart:
        rows = [
            (
                row.id,
                (
                    row.tx_id, row.kind, row.height, format_iso(row.time), other(row.peer_chain),
                    units(row.burned, unit),
                ),
            )
            for row in xchain.txs(site.avm, before=before, count=count)
        ]  # fmt: skip
        return listed(rows, count)

    burned = f"Burned {site.node.coin_symbol}"
    headings = ("Transaction", "Type", "Block", "Time", "Other chain", burned)
    return CsvList("x-chain-transactions", headings, read)


@of_xchain
def blocks(site: Explorer, _request: HttpRequest) -> CsvList:
    """Return the X-Chain's blocks."""

    def read(before: int | None, count: int) -> CsvPart:
        rows = [
            (row.height, (row.height, row.block_id, format_iso(row.time), row.tx_count))
            for row in xchain.blocks(site.avm, before=before, count=count)
        ]
        return listed(rows, count)

    return CsvList("x-chain-blocks", ("Block", "ID", "Time", "Transactions"), read)
