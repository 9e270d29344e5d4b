"""A node without the C-Chain is ready and healthy without it, and makes none of its blocks."""

from typing import Any

import pytest

from cchain_app.apps import evm_chain, evm_chains, evm_runtime
from chaindb.chains import C_CHAIN, MISSING_VOTES, absence
from health_app import rules
from health_app.metrics import chains, network
from network_app import selectors
from network_app.apps import node_network
from platform_app.apps import platform_chain, platform_runtime
from tests.builders import health_checks as checks
from tests.builders import network_rows
from tests.builders.node_settings import updated


@pytest.fixture(autouse=True)
def platform_alone(settings: Any) -> None:
    settings.NODE = updated(settings.NODE, chains=("P",), bootstrap=("127.0.0.1:9651",))


@pytest.mark.usefixtures("pchain")
def test_node_is_ready_once_the_p_chain_is() -> None:
    network_rows.report()
    network_rows.sync("P")
    assert checks.measure_bootstrapped().error == ""
    assert selectors.is_bootstrapped("P")
    assert not selectors.is_bootstrapped("C")


@pytest.mark.usefixtures("pchain")
def test_check_of_the_absent_chain_reports_it() -> None:
    found = checks.measure_c_chain()
    assert found.error == ""
    assert found.message == {
        "consensus": "this node does not take part in the C-Chain (NODE_CHAINS)",
        "vm": None,
    }


@pytest.mark.usefixtures("pchain")
def test_validator_without_the_chain_is_warned_about_missing_votes(settings: Any) -> None:
    settings.NODE = updated(settings.NODE, consensus="snowman")
    found = checks.measure_c_chain()
    assert found.error == ""
    assert isinstance(found.message, dict)
    assert found.message["warning"] == MISSING_VOTES


@pytest.mark.usefixtures("reference_pchain")
def test_non_validator_is_not_warned(settings: Any) -> None:
    settings.NODE = updated(settings.NODE, consensus="snowman", chains=("P",))
    assert checks.measure_c_chain() == rules.absent(absence(C_CHAIN))


@pytest.mark.usefixtures("pchain")
def test_absent_chain_has_no_metrics() -> None:
    network_rows.sync("P")
    assert list(chains.of_evm(evm_chain())) == []
    samples = [
        sample
        for metric in network.of_bootstrap([platform_chain(), *evm_chains()])
        for sample in metric.samples
    ]
    assert samples
    assert [
        metric_sample for metric_sample in samples if "C" in metric_sample.labels.values()
    ] == []


@pytest.mark.usefixtures("pchain")
def test_absent_chain_builds_no_blocks(settings: Any) -> None:
    settings.NODE = updated(settings.NODE, bootstrap=())
    node_network().connect_consensus()
    assert not evm_runtime().consensus.may_produce(1, 0)
    assert platform_runtime().consensus.may_produce(1, 0)
