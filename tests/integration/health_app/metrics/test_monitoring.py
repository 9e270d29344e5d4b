"""The files in monitoring/ work: valid rules, a valid dashboard, and only metrics that the page has."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.integration.health_app.metrics.conftest import Page, names

MONITORING = Path(__file__).resolve().parents[4] / "monitoring"
DASHBOARD: dict[str, Any] = json.loads((MONITORING / "grafana-dashboard.json").read_text())
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
SHOWN = [panel for panel in PANELS if panel["type"] != "row"]
KINDS = {"row", "stat", "timeseries"}
"""Kinds of panels; all of them are part of Grafana itself."""

POSTGRESQL = re.compile(r"svc_database_(?:pool|server)_")
"""Metrics that do not exist with SQLite."""

VARIABLES = {"$instance": ".*", "$__rate_interval": "5m"}
"""Variables that Grafana substitutes in queries."""


def promtool(*arguments: str) -> None:
    """Run promtool; it must find no errors."""
    done = subprocess.run(
        ["promtool", *arguments], cwd=MONITORING, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def queries() -> list[str]:
    """Return all queries of the dashboard as sent to Prometheus."""
    found = []
    for panel in SHOWN:
        for target in panel["targets"]:
            query: str = target["expr"]
            for variable, value in VARIABLES.items():
                query = query.replace(variable, value)
            assert "$" not in query
            found.append(query)
    return found


def figures_in(text: str) -> set[str]:
    """Return the node's metrics that a text mentions."""
    return set(re.findall(r"\bsvc_\w+", re.sub(r"\b\w+:svc_\w+:\w+", "", text)))


def test_prometheus_configuration_is_valid() -> None:
    promtool("check", "config", "prometheus.yml")


def test_the_rules_are_right() -> None:
    promtool("check", "rules", "rules.yml", "alerts.yml")


@pytest.mark.parametrize("tests", sorted(path.name for path in MONITORING.glob("*_test.yml")))
def test_alerts_fire_under_their_conditions(tests: str) -> None:
    promtool("test", "rules", tests)


def test_every_alert_has_a_test() -> None:
    alerts = re.findall(r"- alert: (\w+)", (MONITORING / "alerts.yml").read_text())
    tested = re.findall(r"alertname: (\w+)", (MONITORING / "alerts_test.yml").read_text())
    assert set(alerts) == set(tested)
    assert {"HealthChecksFailing", "FewPeers"} <= set(alerts)


def test_every_alert_links_to_its_row_in_the_documentation() -> None:
    text = (MONITORING / "alerts.yml").read_text()
    document = MONITORING.parent / "docs/operations.md"
    section = document.read_text().split("## When an alert fires\n")[1].split("\n## ")[0]
    alerts = re.findall(r"- alert: (\w+)", text)
    urls = re.findall(r'runbook_url: "(.*)"', text)
    assert set(urls) == {
        f"file:///opt/node/{document.relative_to(MONITORING.parent)}#when-an-alert-fires"
    }
    assert len(urls) == len(alerts)
    assert re.findall(r"^\| (\w+) \| [^|]+ \| [^|]+ \|$", section, re.MULTILINE)[1:] == alerts


def test_dashboard_queries_are_valid(tmp_path: Path) -> None:
    rules = [
        {"record": f"query:number{place}", "expr": query} for place, query in enumerate(queries())
    ]
    path = tmp_path / "queries.yml"
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", str(path))


def test_queried_metrics_are_on_the_page(page: Page) -> None:
    files = ("alerts.yml", "rules.yml")
    wanted = figures_in(
        "\n".join([*queries(), *((MONITORING / name).read_text() for name in files)])
    )
    assert len(wanted) > 60
    # Of a node with a backup, of a validator of an L1, and of a database with read replicas.
    elsewhere = {
        "svc_backup_last_timestamp_seconds",
        "svc_platform_l1_balance_seconds",
        "svc_database_replica_in_use",
    }
    missing = wanted - names(page) - elsewhere
    if connection.vendor == "postgresql":
        assert missing == set()
    else:
        assert missing == {name for name in wanted if POSTGRESQL.match(name)}


def test_dashboard_has_the_format_of_grafana() -> None:
    assert DASHBOARD["id"] is None
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", DASHBOARD["uid"])
    assert DASHBOARD["title"]
    assert 30 <= DASHBOARD["schemaVersion"] <= 41
    assert {panel["type"] for panel in PANELS} <= KINDS
    assert {
        requirement["id"]
        for requirement in DASHBOARD["__requires"]
        if requirement["type"] == "panel"
    } | {"row"} == KINDS


def test_dashboard_takes_the_data_source_as_a_variable() -> None:
    variables = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    assert variables["instance"]["datasource"] == chosen
    for panel in SHOWN:
        assert [panel["datasource"], *(target["datasource"] for target in panel["targets"])] == [
            chosen
        ] * (len(panel["targets"]) + 1)
        assert all('instance=~"$instance"' in target["expr"] for target in panel["targets"])


def test_panels_do_not_overlap() -> None:
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    taken: set[tuple[int, int]] = set()
    for panel in PANELS:
        place = panel["gridPos"]
        assert place["x"] >= 0
        assert place["x"] + place["w"] <= 24
        assert place["h"] >= 1
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        taken |= cells


def test_panels_have_titles_and_descriptions() -> None:
    for panel in SHOWN:
        assert panel["title"]
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["targets"]
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references)
        assert all(target["legendFormat"] for target in panel["targets"])
