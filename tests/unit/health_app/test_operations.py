"""docs/operations.md lists each way in which a check can fail, with cause and action."""

import re
from itertools import product
from pathlib import Path

import pytest

from health_app import advice, reporter, rules
from health_app.checks import TAGS, HealthCheck
from health_app.conservation import CoinCount
from health_app.result import Finding
from health_app.rules import NetworkTraffic, Outstanding, Standstill
from health_app.supply import finding_of

ROOT = Path(__file__).resolve().parents[3]
NONE = Outstanding()
MANY, LONG = Outstanding(10_000, 0.0), Outstanding(1, 10_000.0)
BUSY = NetworkTraffic(
    connected=4, send_fail_rate=0.0, since_sent=0.3, since_received=1.2, has_sent=True,
    has_received=True, silent=None,
)  # fmt: skip
TROUBLED = (
    BUSY._replace(connected=0),
    BUSY._replace(send_fail_rate=1.0),
    BUSY._replace(since_sent=900.0),
    BUSY._replace(since_received=900.0),
    BUSY._replace(has_sent=False),
    BUSY._replace(has_received=False),
    BUSY._replace(silent=99.0),
)


def told() -> list[tuple[str, str, str, str]]:
    """Return the rows of the table: checks, messages, cause, action."""
    text = (ROOT / "docs/operations.md").read_text().partition("## When a check fails")[2]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [(row[0], row[1], row[2], row[3]) for row in rows[1:]]


def known(check: str) -> list[re.Pattern[str]]:
    """Return the messages of a check in the table, as patterns."""
    return [
        re.compile(".*".join(map(re.escape, words.split("…"))))
        for checks, said, *_ in told()
        if check in checks.split(", ") or checks == "each"
        for words in re.findall(r"`([^`]+)`", said)
    ]


def standstills(*counts: int) -> list[Standstill]:
    """Return every combination of a standstill with these counts."""
    return [
        Standstill(count, 99.0, maker, connected=connected)
        for count, maker, connected in product(counts, ("", "NodeID-1"), (False, True))
    ]


def failures() -> list[tuple[str, str]]:
    """Return all messages of the rules for each check, each for a single reason."""
    chains = [(MANY, ""), (LONG, ""), (NONE, "disk full")]
    found = [("C", rules.evm_chain(*chain)) for chain in chains]
    found += [("C", rules.evm_chain(NONE, standstill=stopped)) for stopped in standstills(3)]
    found += [("P", rules.p_chain(chain, 1.0, words, in_network=True)) for chain, words in chains]
    found += [
        ("P", rules.p_chain(NONE, 1.0, standstill=stopped, in_network=True))
        for stopped in standstills(0, 3)
    ]
    found += [
        ("P", rules.p_chain(NONE, 0.1, in_network=True)),
        ("X", rules.x_chain(MANY, 0)),
        ("bootstrapped", rules.bootstrapped({"P": False})),
        ("bootstrapped", rules.bootstrapped({"P": False}, "nobody answers")),
        *(("network", rules.network(report, in_network=True)) for report in TROUBLED),
        *(("router", rules.router(load)) for load in (MANY, LONG)),
        *(("supply", finding_of(CoinCount({"x": made}, {"y": 5}))) for made in (3, 7)),
    ]
    assert all(finding.error for _, finding in found)
    return sorted(
        {(check, result.error.partition(" reason: ")[2] or result.error) for check, result in found}
    )


@pytest.mark.parametrize(("check", "words"), failures())
def test_every_failure_has_advice(check: str, words: str) -> None:
    assert [advice for advice in known(check) if advice.fullmatch(words)], words


def test_exception_in_a_check_has_advice() -> None:
    def broken() -> Finding:
        raise KeyError("x")

    words = reporter.examine(HealthCheck("C", broken, frozenset())).error
    assert words == "the check raised an exception: KeyError"
    for check in TAGS:
        assert [advice for advice in known(check) if advice.fullmatch(words)]


def test_each_row_has_a_cause_and_an_action() -> None:
    rows = told()
    assert {check for checks, *_ in rows for check in checks.split(", ")} == {*TAGS, "each"}
    assert all(len(cause) > 10 and len(action) > 5 for *_, cause, action in rows)


def test_the_admin_gives_the_same_advice() -> None:
    told_here = [
        (checks, words, cause.replace("`", ""), action.replace("`", ""))
        for checks, said, cause, action in told()
        for words in re.findall(r"`([^`]+)`", said)
    ]
    assert [tuple(advice) for advice in advice.ALL] == told_here


@pytest.mark.parametrize(("check", "words"), failures())
def test_each_failure_has_one_advice(check: str, words: str) -> None:
    found = advice.find(check, f"it is not healthy reason: {words}")
    assert len(found) == 1, [advice.message for advice in found]


def test_unknown_failure_has_no_advice() -> None:
    assert advice.find("C", "the moon is full") == []
    # A message of another check.
    assert advice.find("router", "subnets not bootstrapped") == []
