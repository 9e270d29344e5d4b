"""A chain that cannot follow the network's blocks is neither healthy nor bootstrapped, and reports why."""

from collections.abc import Callable
from typing import Any

import pytest

from health_app.result import Finding
from network_app import selectors
from tests.builders import health_checks as checks
from tests.builders import network_rows
from tests.builders.node_settings import updated

WORDS = (
    "all 5 validators accepted {}-Chain block 22, which this node's rules refuse: it is too long"
)


@pytest.fixture(autouse=True)
def follower(settings: Any) -> None:
    settings.NODE = updated(settings.NODE, bootstrap=("127.0.0.1:9651",))


@pytest.mark.usefixtures("pchain")
@pytest.mark.parametrize(
    ("alias", "measure", "other"),
    [("C", checks.measure_c_chain, "P"), ("P", checks.measure_p_chain, "C")],
)
def test_obstacle_fails_only_the_check_of_its_chain(
    alias: str, measure: Callable[[], Finding], other: str
) -> None:
    network_rows.report()
    network_rows.sync("P")
    network_rows.sync("C")
    assert selectors.is_bootstrapped(alias)

    network_rows.sync(alias, obstacle=WORDS.format(alias))
    assert measure().error.startswith(f"consensus is not healthy reason: {WORDS.format(alias)}")
    assert not selectors.is_bootstrapped(alias)
    assert selectors.is_bootstrapped(other)


@pytest.mark.usefixtures("pchain")
def test_readiness_reports_the_obstacle() -> None:
    network_rows.report()
    network_rows.sync("P")
    network_rows.sync("C", obstacle=WORDS.format("C"))
    assert checks.measure_bootstrapped().error == f"subnets not bootstrapped: {WORDS.format('C')}"


@pytest.mark.usefixtures("pchain")
def test_validator_that_refuses_a_block_is_not_bootstrapped(settings: Any) -> None:
    settings.NODE = updated(settings.NODE, bootstrap=(), consensus="snowman")
    network_rows.report()
    network_rows.sync("P")
    assert selectors.is_bootstrapped("P")
    network_rows.sync("P", obstacle=WORDS.format("P"))
    assert not selectors.is_bootstrapped("P")
