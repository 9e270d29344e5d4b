"""The tables of docs/capacity.md: measured costs as text, and back; and the document as a whole."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import NOTHING, number

DOCUMENT = Path(__file__).resolve().parents[1] / "docs/capacity.md"
BEGIN, END = "<!-- capacity: begin -->", "<!-- capacity: end -->"

EMBEDDED, PRODUCTION = "embedded", "production"
NODE, WEB, PRODUCER, DATABASE, OTHER = "node", "web", "producer", "PostgreSQL", "other"
MEMORY, DISK, NETWORK, PEER = "memory", "disk", "network", "peer"
PROCESSOR: Mapping[str, tuple[str, ...]] = {
    EMBEDDED: (NODE,),
    PRODUCTION: (WEB, PRODUCER, DATABASE, OTHER),
}
"""Columns of processor time, by profile."""
MEASURED_WEB_PROCESSES = 2
"""Web processes of the measured production profile."""
COLUMNS: Mapping[str, tuple[str, ...]] = {
    EMBEDDED: (*PROCESSOR[EMBEDDED], MEMORY, DISK, NETWORK, PEER),
    PRODUCTION: (*PROCESSOR[PRODUCTION], MEMORY),
}
UNITS = {MEMORY: "KiB", DISK: "bytes", NETWORK: "bytes", PEER: "bytes to each peer"}
"""Units of the columns; those of the others are microseconds of processor time."""

ITEMS = {
    "idle": "a second of a node without load",
    "web": "a further web process",
    "block": "a block of the C-Chain, without its transactions",
    "transfer": "a transfer on the C-Chain",
    "token-transfer": "an ERC-20 transfer",
    "payment": "a payment on the P-Chain, with its share of a block of five",
    "subscriber": "a WebSocket that is subscribed to `newHeads`",
    "notification": "a head, sent to one subscriber",
    "block-number": "`eth_blockNumber`",
    "balance": "`eth_getBalance`",
    "call": "`eth_call` of `balanceOf`",
    "receipt": "`eth_getTransactionReceipt`",
    "block-read": "`eth_getBlockByNumber` with 50 whole transactions",
    "logs": "`eth_getLogs` of 20 blocks with 50 logs",
    "estimate": "`eth_estimateGas` of an ERC-20 transfer",
    "fee-history": "`eth_feeHistory` of 20 blocks with a percentile",
    "page-front": "the explorer's front page",
    "page-block": "the page of a block",
    "page-transaction": "the page of a transaction",
    "page-address": "the page of an address",
    "page-token": "the page of a token",
}
"""The measured items and their titles."""

Row = dict[str, float]
"""The cost of one item, by column."""


class NoSuchCost(Exception):
    """The document has no such figure."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The measured costs by profile, item and column."""

    profiles: Mapping[str, Mapping[str, Row]]

    def of(self, profile: str, item: str, column: str) -> float:
        """Return a cost, 0 if it was not measured for this item."""
        if column not in COLUMNS[profile]:
            raise NoSuchCost(f"{profile} has no column {column}")
        return self.profiles[profile].get(item, {}).get(column, 0.0)

    def disk(self, item: str) -> float:
        """Return the bytes of an item on the disk, which are about the same in both profiles."""
        return self.of(EMBEDDED, item, DISK)


def cost_tables(costs: Costs) -> Iterator[str]:
    """Yield the lines of the tables of costs."""
    for profile, columns in COLUMNS.items():
        titles = [f"{column}, {UNITS.get(column, 'µs')}" for column in columns]
        yield f"Profile `{profile}`:"
        yield ""
        yield f"| Item | Of | {' | '.join(titles)} |"
        yield f"| --- | --- |{' ---: |' * len(columns)}"
        for item, title in ITEMS.items():
            row = costs.profiles[profile].get(item)
            if row:
                cells = [number(row[column]) if column in row else NOTHING for column in columns]
                yield f"| `{item}` | {title} | {' | '.join(cells)} |"
        yield ""


def read_costs(text: str) -> Costs:
    """Return the costs in the tables of a document.

    Raises:
        NoSuchCost: A table is missing.
    """
    found: dict[str, dict[str, Row]] = {}
    for profile, columns in COLUMNS.items():
        _, title, rest = text.partition(f"Profile `{profile}`:\n")
        if not title:
            raise NoSuchCost(f"the document has no table of the profile {profile}")
        lines = rest.strip().partition("\n\n")[0].splitlines()[2:]
        found[profile] = dict(_read_row(line, columns) for line in lines)
    return Costs(found)


def _read_row(line: str, columns: Sequence[str]) -> tuple[str, Row]:
    item, _, *cells = (cell.strip() for cell in line.strip("|").split("|"))
    row = {
        column: float(cell.replace(",", ""))
        for column, cell in zip(columns, cells, strict=True)
        if cell != NOTHING
    }
    return item.strip("`"), row


def as_printed(costs: Costs) -> Costs:
    """Return the costs as rounded in the document, so that all that is computed from them follows from the document."""
    return read_costs("\n".join(cost_tables(costs)))
