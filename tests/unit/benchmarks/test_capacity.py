"""The capacity document: its needs follow from its costs, and the first limit is the one with the least left."""

from dataclasses import replace
from math import inf

import pytest

from benchmarks import capacity_document
from benchmarks.capacity_document import (
    COLUMNS,
    DOCUMENT,
    EMBEDDED,
    ITEMS,
    PROCESSOR,
    PRODUCTION,
    Costs,
    NoSuchCost,
    as_printed,
    cost_tables,
    read_costs,
)
from benchmarks.capacity_needs import (
    PAGE_SHARES,
    READ_SHARES,
    SITES,
    TRANSACTION_SHARES,
    Limit,
    Site,
    limits,
    needs,
)
from benchmarks.soak_day import prediction

TEXT = DOCUMENT.read_text()


def flat(cost: float) -> Costs:
    """Return costs that are all the same."""
    return Costs(
        {
            profile: {item: dict.fromkeys(columns, cost) for item in ITEMS}
            for profile, columns in COLUMNS.items()
        }
    )


def test_the_needs_of_the_document_follow_from_its_costs() -> None:
    generated = TEXT.partition(capacity_document.BEGIN)[2].partition(capacity_document.END)[0]
    costs = read_costs(generated)
    assert generated.rstrip().endswith("\n".join(["## Needs", "", *needs(costs)]).rstrip())


def test_all_that_is_computed_with_was_measured() -> None:
    costs = read_costs(TEXT)
    for profile in (EMBEDDED, PRODUCTION):
        found = costs.profiles[profile]
        used = {*READ_SHARES, *PAGE_SHARES, *TRANSACTION_SHARES, "idle", "block", "notification"}
        assert used <= found.keys()
    for item in ("block", "payment", *TRANSACTION_SHARES):
        assert costs.disk(item) > 0
    assert prediction(costs).per_block > costs.disk("block")


def test_mixes_are_whole() -> None:
    for shares in (READ_SHARES, PAGE_SHARES, TRANSACTION_SHARES):
        assert sum(shares.values()) == pytest.approx(1)
        assert shares.keys() <= ITEMS.keys()


def test_costs_survive_being_printed() -> None:
    costs = Costs(
        {
            EMBEDDED: {"idle": {"node": 1234.4, "memory": 0.123}, "block": {"disk": 1900.0}},
            PRODUCTION: {"idle": {"web": 12.34}},
        }
    )
    printed = as_printed(costs)
    assert printed.profiles == {
        EMBEDDED: {"idle": {"node": 1234.0, "memory": 0.12}, "block": {"disk": 1900.0}},
        PRODUCTION: {"idle": {"web": 12.3}},
    }
    assert as_printed(printed) == printed
    assert printed.of(EMBEDDED, "call", "node") == 0
    with pytest.raises(NoSuchCost, match="embedded has no column web"):
        printed.of(EMBEDDED, "idle", "web")


def test_a_document_without_tables_is_refused() -> None:
    with pytest.raises(NoSuchCost, match="no table of the profile embedded"):
        read_costs("# Capacity")


def multiplied(site: Site, times: float, title: str) -> Site:
    """Return a site with several times the load that a limit depends on.

    Heads are sent to each subscriber, so only one of blocks and subscribers may grow: memory and connections depend on
    subscribers alone, and all others grow with blocks.
    """
    if title in {"memory", "connections"}:
        # Subscribers are a whole number; the comparison allows for the rounding.
        return replace(site, subscribers=round(site.subscribers * times))
    return replace(
        site,
        requests=site.requests * times,
        transactions=site.transactions * times,
        blocks=site.blocks * times,
        pages=site.pages * times,
    )


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.title)
def test_a_load_multiplied_by_what_a_limit_carries_needs_the_capacity(site: Site) -> None:
    costs = read_costs(TEXT)
    for limit in limits(site, costs):
        more = multiplied(site, limit.carries, limit.title)
        (same,) = [other for other in limits(more, costs) if other.title == limit.title]
        assert same.need == pytest.approx(limit.capacity, rel=1e-3)
        assert same.carries == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.title)
def test_the_parts_of_a_site_fit_on_its_machines(site: Site) -> None:
    assert sum(site.cores.values()) <= site.all_cores
    assert site.cores.keys() == set(PROCESSOR[site.profile])


def test_each_web_process_is_idle_and_follows_blocks() -> None:
    site = replace(SITES[1], requests=0.0, transactions=0.0, pages=0.0, subscribers=0, blocks=3.0)
    found = {
        count: {limit.title: limit for limit in limits(replace(site, web_processes=count), flat(10.0))}
        for count in (2, 6)
    }  # fmt: skip
    assert found[2]["processor: web"].need == pytest.approx((10 + 3 * 10) / 1e6)
    six = found[6]["processor: web"]
    assert six.arithmetic == "6 idle web processes × 5.00 µs + 18 followed blocks × 5.00 µs"
    assert six.need == pytest.approx(3 * (10 + 3 * 10) / 1e6)
    assert six.fixed == pytest.approx(3 * 10 / 1e6)
    for title in ("processor: producer", "processor: PostgreSQL", "processor: other"):
        assert found[6][title].need == found[2][title].need
    assert found[6]["memory"].fixed == pytest.approx((10 + 4 * 10) / 2**20)


def test_a_limit_below_what_does_not_grow_carries_nothing() -> None:
    assert Limit("memory", "", need=3.0, capacity=1.0, unit="GiB", fixed=2.0).carries == 0
    assert Limit("memory", "", need=2.0, capacity=4.0, unit="GiB", fixed=2.0).carries == inf


def test_the_limit_with_the_least_reserve_comes_first() -> None:
    site = next(item for item in SITES if item.profile == PRODUCTION)
    costs = as_printed(flat(1.0))
    found = limits(site, costs)
    assert [limit.carries for limit in found] == sorted(limit.carries for limit in found)
    small = replace(site, memory=1e-9)
    assert limits(small, costs)[0].title == "memory"
    slow = replace(site, cores={**site.cores, "web": 1e-9})
    assert limits(slow, costs)[0].title == "processor: web"
    assert any("Breaks first" in line for line in needs(costs))


def test_the_arithmetic_of_a_limit_gives_its_need() -> None:
    site = replace(SITES[0], requests=12.0, transactions=2.0, blocks=2.0, pages=1.0, subscribers=5)
    found = {limit.title: limit for limit in limits(site, flat(10.0))}
    processor = found["processor: node"]
    assert processor.arithmetic == (
        "10 µs idle + 10 reads × 10 µs + 2 transactions × 10 µs + 1 page × 10 µs + 2 blocks × 10 µs"
        " + 10 notifications × 10 µs"
    )
    assert processor.need == pytest.approx((10 + (10 + 2 + 1 + 2 + 10) * 10) / 1e6)
    assert found["memory"].need == pytest.approx((10 + 5 * 10) / 2**20)
    assert found["disk in a year"].need == pytest.approx((2 * 10 + 2 * 10) * 365 * 86_400 / 1e9)
    assert found["network"].need == pytest.approx((10 + 2 + 1 + 10) * 10 * 8 / 1e6)


def test_tables_name_each_item_once() -> None:
    lines = [line for line in cost_tables(flat(1.0)) if line.startswith("| `")]
    assert len(lines) == len(ITEMS) * len(COLUMNS)
