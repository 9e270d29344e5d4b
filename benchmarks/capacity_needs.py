"""The needs of installations, computed from the measured costs, and the limit that each of them reaches first."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

from benchmarks.capacity_document import (
    EMBEDDED,
    MEASURED_WEB_PROCESSES,
    MEMORY,
    NETWORK,
    PEER,
    PROCESSOR,
    PRODUCTION,
    WEB,
    Costs,
)
from benchmarks.report import number

READ_SHARES = {
    "block-number": 0.25,
    "balance": 0.15,
    "call": 0.25,
    "receipt": 0.15,
    "block-read": 0.05,
    "logs": 0.05,
    "estimate": 0.07,
    "fee-history": 0.03,
}
"""The mix of reads."""
PAGE_SHARES = {
    "page-front": 0.3,
    "page-block": 0.15,
    "page-transaction": 0.25,
    "page-address": 0.2,
    "page-token": 0.1,
}
"""The mix of the explorer's pages."""
TRANSACTION_SHARES = {"transfer": 0.5, "token-transfer": 0.5}
"""The mix of transactions."""
FULL = 0.7
"""The share of a core above which answers begin to wait for each other."""
DAY = 86_400
YEAR = 365 * DAY
CONNECTIONS = 16_384
"""Connections of a web process (NODE_CONNECTIONS)."""


@dataclass(frozen=True, slots=True)
class Site:
    """An installation: its load per second, and its machines."""

    title: str
    profile: str
    requests: float
    """RPC requests, the transactions among them."""
    transactions: float
    blocks: float
    pages: float
    subscribers: int
    peers: int
    machines: str
    """The machines, as text."""
    cores: Mapping[str, float]
    """Cores of each part of the node, by column; a producer and an embedded node use one."""
    all_cores: int
    """Cores of all machines together."""
    web_processes: int
    memory: float
    """GiB of all machines together."""
    disk: float
    """GB of the database's disk."""
    network: float
    """Mbit/s of the public connection."""


SITES = (
    Site(
        "A team of 50", EMBEDDED, requests=25, transactions=0.5, blocks=0.5, pages=1, subscribers=50, peers=0,
        machines="one machine with 2 cores, 4 GiB and 100 GB; profile `embedded`; each transaction gets its block",
        cores={"node": 1}, all_cores=2, web_processes=1, memory=4, disk=100, network=100,
    ),
    Site(
        "A public testnet of 100 requests/s", PRODUCTION, requests=100, transactions=1, blocks=1, pages=2, subscribers=200,
        peers=20, machines="one machine with 4 cores, 8 GiB and 200 GB; two web processes",
        cores={"web": 2, "producer": 1, "PostgreSQL": 0.5, "other": 0.5}, all_cores=4, web_processes=2, memory=8, disk=200,
        network=100,
    ),
    Site(
        "A public testnet of 10,000 requests/s", PRODUCTION, requests=10_000, transactions=100, blocks=2, pages=50,
        subscribers=10_000, peers=20,
        machines="two web machines with 4 cores and 8 GiB each, which have four web processes each; a machine with 8 cores, "
        "32 GiB and 8 TB for PostgreSQL, Redis and the other processes; `NODE_MINING=interval`, `NODE_BLOCK_INTERVAL=0.5`",
        cores={"web": 8, "producer": 1, "PostgreSQL": 4, "other": 2}, all_cores=16, web_processes=8, memory=48, disk=8_000,
        network=1_000,
    ),
)  # fmt: skip
"""The installations of the document."""


class Limit(NamedTuple):
    """A need of an installation and the capacity for it."""

    title: str
    arithmetic: str
    need: float
    capacity: float
    unit: str
    fixed: float = 0.0
    """The part of the need that does not grow with the load."""

    @property
    def carries(self) -> float:
        """How many times the load this limit would carry; 0 if the part that does not grow already exceeds it."""
        growing = self.need - self.fixed
        return max(0.0, (self.capacity - self.fixed) / growing) if growing else inf


class Term(NamedTuple):
    """A number of items a second, and the cost of each."""

    count: float
    cost: float
    name: str


def mean(costs: Costs, profile: str, shares: Mapping[str, float], column: str) -> float:
    """Return the average cost of a mix."""
    return sum(share * costs.of(profile, item, column) for item, share in shares.items())


def limits(site: Site, costs: Costs) -> list[Limit]:
    """Return the needs of an installation beside its capacities, the one that is exhausted first at the beginning."""
    found = [
        *(_processor(site, costs, part) for part in PROCESSOR[site.profile]),
        _memory(site, costs),
        _connections(site),
        _network(site, costs),
        _disk(site, costs),
    ]
    return sorted(found, key=lambda limit: limit.carries)


def _terms(site: Site, costs: Costs, column: str) -> list[Term]:
    """Return the items of a second with their costs in a column."""
    profile = site.profile
    return [
        Term(site.requests - site.transactions, mean(costs, profile, READ_SHARES, column), "read"),
        Term(
            site.transactions, mean(costs, profile, TRANSACTION_SHARES, column), "transaction"
        ),
        Term(site.pages, mean(costs, profile, PAGE_SHARES, column), "page"),
        Term(site.blocks, costs.of(profile, "block", column), "block"),
        Term(
            site.blocks * site.subscribers, costs.of(profile, "notification", column), "notification"
        ),
    ]  # fmt: skip


def _processor(site: Site, costs: Costs, part: str) -> Limit:
    """Return the need of processor time of a part of the node.

    Each web process does the idle work and follows each block, so these costs grow with the number of web processes. The
    work that this gives PostgreSQL is not scaled, because it was not measured apart from the producer's.
    """
    idle = costs.of(site.profile, "idle", part)
    terms = _terms(site, costs, part)
    text = f"{number(idle)} µs idle"
    if part == WEB:
        processes, each = site.web_processes, idle / MEASURED_WEB_PROCESSES
        idle = processes * each
        text = _text([Term(processes, each, "idle web process")])
        terms = [_followed(term, processes) if term.name == "block" else term for term in terms]
    fixed = idle / 1e6
    need = fixed + _sum(terms) / 1e6
    text = f"{text} + {_text(terms)}"
    return Limit(f"processor: {part}", text, need, FULL * site.cores[part], "cores", fixed)


def _followed(blocks: Term, web_processes: int) -> Term:
    """Return the blocks that all web processes follow, with the cost of one in one of them."""
    count, cost = blocks.count * web_processes, blocks.cost / MEASURED_WEB_PROCESSES
    return Term(count, cost, "followed block")


def _memory(site: Site, costs: Costs) -> Limit:
    idle = costs.of(site.profile, "idle", MEMORY)
    each = costs.of(site.profile, "subscriber", MEMORY)
    further: list[Term] = []
    if site.profile == PRODUCTION:
        count = site.web_processes - MEASURED_WEB_PROCESSES
        further = [Term(count, costs.of(PRODUCTION, WEB, MEMORY), "further web process")]
    subscribers = [Term(site.subscribers, each, "subscriber")]
    fixed = (idle + _sum(further)) / 2**20
    need = fixed + _sum(subscribers) / 2**20
    text = f"{number(idle)} KiB idle + {_text([*further, *subscribers], 'KiB')}"
    return Limit("memory", text, need, site.memory, "GiB", fixed)


def _connections(site: Site) -> Limit:
    capacity = float(site.web_processes * CONNECTIONS)
    text = f"{site.subscribers:,} subscribers; {site.web_processes} × {CONNECTIONS:,} are possible"
    return Limit("connections", text, float(site.subscribers), capacity, "")


def _network(site: Site, costs: Costs) -> Limit:
    """Return the traffic with clients, which was measured in the embedded profile, and with peers."""
    as_embedded = replace(site, profile=EMBEDDED)
    terms = [term for term in _terms(as_embedded, costs, NETWORK) if term.name != "block"]
    if site.peers:
        per_peer = _terms(as_embedded, costs, PEER)
        terms += [
            Term(site.peers * term.count, term.cost, f"{term.name} to a peer")
            for term in per_peer
            if term.name in {"transaction", "block"}
        ]
    need = _sum(terms) * 8 / 1e6
    return Limit("network", f"8 bits × ({_text(terms, 'B')})", need, site.network, "Mbit/s")


def _disk(site: Site, costs: Costs) -> Limit:
    per_transaction = sum(share * costs.disk(item) for item, share in TRANSACTION_SHARES.items())
    terms = [
        Term(site.blocks, costs.disk("block"), "block"),
        Term(site.transactions, per_transaction, "transaction"),
    ]
    need = _sum(terms) * YEAR / 1e9
    text = f"({_text(terms, 'B')}) × {YEAR:,} s; {number(_sum(terms) * DAY / 1e9)} GB a day"
    return Limit("disk in a year", text, need, site.disk, "GB")


def _sum(terms: list[Term]) -> float:
    return sum(term.count * term.cost for term in terms)


def _text(terms: list[Term], unit: str = "µs") -> str:
    return " + ".join(
        f"{_counted(term.count, term.name)} × {number(term.cost)} {unit}"
        for term in terms
        if term.count and term.cost
    )


def _count(count: float) -> str:
    return f"{count:,.1f}".removesuffix(".0")


def _counted(count: float, name: str) -> str:
    """Return a number with a name, which is in the plural if need be."""
    if count == 1:
        return f"1 {name}"
    noun, space, rest = name.partition(" to ")
    return f"{_count(count)} {noun}{'es' if noun.endswith('ss') else 's'}{space}{rest}"


def needs(costs: Costs) -> Iterator[str]:
    """Yield the lines of the document's second part."""
    yield from _mixes(costs)
    for site in SITES:
        found = limits(site, costs)
        first = found[0]
        yield f"### {site.title}"
        yield ""
        yield (
            f"Load a second: {_count(site.requests)} requests, with {_counted(site.transactions, 'transaction')} in "
            f"{_counted(site.blocks, 'block')}, and {_counted(site.pages, 'page')}; {site.subscribers:,} subscribers; "
            f"{site.peers} peers. Machines: {site.machines}."
        )
        yield ""
        yield "| Limit | Arithmetic, a second | Need | Capacity | Carries the load × |"
        yield "| --- | --- | ---: | ---: | ---: |"
        for limit in found:
            cells = (
                limit.title,
                limit.arithmetic,
                f"{number(limit.need)} {limit.unit}".strip(),
                f"{number(limit.capacity)} {limit.unit}".strip(),
                number(limit.carries),
            )
            yield f"| {' | '.join(cells)} |"
        yield ""
        yield f"**Breaks first: {first.title}, at {number(first.carries)} times this load.**"
        yield ""


def _mixes(costs: Costs) -> Iterator[str]:
    """Yield the lines about the mixes and their average costs."""
    mixes = {"read": READ_SHARES, "transaction": TRANSACTION_SHARES, "page": PAGE_SHARES}
    yield "| Average | Mix | Embedded, µs | Production, µs | Network, bytes |"
    yield "| --- | --- | ---: | ---: | ---: |"
    for name, shares in mixes.items():
        mix = ", ".join(f"{share:.0%} `{item}`" for item, share in shares.items())
        (embedded,) = (mean(costs, EMBEDDED, shares, part) for part in PROCESSOR[EMBEDDED])
        parts = " + ".join(
            f"{number(mean(costs, PRODUCTION, shares, part))} {part}"
            for part in PROCESSOR[PRODUCTION]
        )
        network = mean(costs, EMBEDDED, shares, NETWORK)
        yield f"| {name} | {mix} | {number(embedded)} | {parts} | {number(network)} |"
    yield ""
