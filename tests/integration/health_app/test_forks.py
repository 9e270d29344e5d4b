"""A node on another chain than those who make the blocks is not healthy, and says where it left theirs."""

from collections.abc import Callable

import pytest

from health_app import checks
from health_app.result import Finding
from tests.builders import network_rows

WORDS = "the {}-Chain's block 7 here is a, the producer's is b (NodeID-c)"


@pytest.mark.usefixtures("pchain")
@pytest.mark.parametrize(
    ("alias", "measure"), [("C", checks.measure_c_chain), ("P", checks.measure_p_chain)]
)
def test_a_fork_turns_its_chain_red(alias: str, measure: Callable[[], Finding]) -> None:
    network_rows.report()
    network_rows.sync(alias)
    assert WORDS.format(alias) not in measure().error

    network_rows.sync(alias, conflict=WORDS.format(alias))
    assert measure().error.startswith(f"consensus is not healthy reason: {WORDS.format(alias)}")


@pytest.mark.usefixtures("pchain")
def test_what_a_process_that_is_gone_said_is_not_believed() -> None:
    network_rows.report(heartbeat_at=network_rows.ago(1_000))
    network_rows.sync("C", conflict=WORDS.format("C"))
    assert checks.measure_c_chain().error == ""
