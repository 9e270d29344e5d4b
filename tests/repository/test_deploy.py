"""deploy/ fits the node: its commands and settings exist, and its ports and paths respond."""

import re
import subprocess
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from django.core.management import get_commands
from django.urls import resolve

from health_app.metrics.sharing import VARIABLE
from nodeproject.settings.databases import database
from nodeproject.settings.flags import table
from nodeproject.settings.node import NodeSettings
from tests.builders.node_settings import updated
from tests.repository import deployed
from tests.repository.deployed import COMPILERS, DEPLOY, ROOT, Container
from tests.repository.kubernetes_schema import KINDS

SETTINGS = {name for name, _, _ in table(NodeSettings)}
READINESS, LIVENESS = "/ext/health/readiness", "/ext/health/liveness"

NODE_CONTAINERS = [*deployed.composed(), *deployed.in_pod()]
each = pytest.mark.parametrize("container", NODE_CONTAINERS, ids=lambda one: one.name)


def words_of(container: Container) -> list[str]:
    """Return the command of a container as typed in a checkout, without logging options."""
    words = list(container.command)
    return words[: words.index("--loglevel")] if "--loglevel" in words else words


@each
def test_containers_run_existing_commands(container: Container) -> None:
    words = words_of(container)
    if words[:2] == ["python", "manage.py"]:
        assert words[2] in get_commands()
        assert len(words) == 3
    else:
        assert words[:3] == ["celery", "-A", "nodeproject.celery"]
        assert words[3:] in (["beat"], ["worker", "--queues", "chain,default"])


@each
def test_each_variable_is_a_setting(container: Container) -> None:
    assert set(container.environment) - SETTINGS <= {VARIABLE}
    assert container.environment["NODE_PROFILE"] == "production"


@pytest.mark.parametrize("found", [deployed.composed(), deployed.in_pod()], ids=["compose", "pod"])
def test_every_process_of_the_recipe_is_started_once(found: list[Container]) -> None:
    started = sorted(" ".join(words_of(other)) for other in found)
    told = (ROOT / "docs/production.md").read_text().split("\n## ")[0]
    recipe = sorted(
        line.split(".venv/bin/")[1]
        for line in told.splitlines()
        if line.strip().startswith((".venv", "NODE_WEB"))
    )
    assert started == recipe
    assert next(item.name for item in found) == "init"


@pytest.mark.parametrize("example", ["node.env.example", "web.env.example"])
def test_systemd_example_contains_settings_only(example: str) -> None:
    lines = (DEPLOY / "systemd" / example).read_text().splitlines()
    named = {line.partition("=")[0] for line in lines if line and not line.startswith("#")}
    assert named <= SETTINGS


def test_compose_references_exist() -> None:
    found = deployed.compose()
    services, volumes = found["services"], found["volumes"]
    assert {"postgresql", "redis", "prometheus", "grafana"} <= set(services)
    for name, one in services.items():
        assert set(one.get("networks", ())) <= set(found["networks"]), name
        assert set(one.get("depends_on", ())) <= set(services), name
        for mount in one.get("volumes", ()):
            source, target, *_ = mount.split(":")
            if source.startswith("."):
                assert (DEPLOY / source).is_file(), mount
            else:
                assert source in volumes, mount
            assert target.startswith("/")
        if "build" not in one and one["image"] != "nunatak":
            assert ":" in one["image"], "a version is named"
            assert not one["image"].endswith(":latest")
    for url, service in (("NODE_DATABASE_URL", "postgresql"), ("NODE_REDIS_URL", "redis")):
        value = services["web"]["environment"][url]
        assert service in value.replace("@", "/").replace(":", "/").split("/")


def test_password_made_as_documented_is_in_the_database_url() -> None:
    text = (DEPLOY / "compose.yml").read_text()
    (recipe,) = set(re.findall(r"POSTGRES_PASSWORD=\$\(([^)]+)\)", text))
    assert f"`{recipe}`" in (ROOT / "docs/operations.md").read_text()
    made = subprocess.run(recipe.split(), capture_output=True, text=True, check=True).stdout.strip()
    url = deployed.compose()["services"]["web"]["environment"]["NODE_DATABASE_URL"]
    given = re.sub(r"\$\{POSTGRES_PASSWORD:\?[^}]+\}", made, url)
    assert len(made) == 48
    assert database(updated(NodeSettings(), database_url=given))["PASSWORD"] == made


def test_compose_file_has_no_password_and_no_public_port() -> None:
    text = (DEPLOY / "compose.yml").read_text()
    for line in text.splitlines():
        if "PASSWORD:" in line:
            assert ":?" in line, line
    for name, one in deployed.compose()["services"].items():
        for port in one.get("ports", ()):
            assert port.startswith("127.0.0.1:") or name == "network", (name, port)


def test_only_the_web_server_has_a_health_check() -> None:
    for name, one in deployed.compose()["services"].items():
        if one["image"] == "nunatak":
            assert (one.get("healthcheck") == {"disable": True}) == (name != "web")
    for container in deployed.pod()["containers"]:
        probes = {key: one["httpGet"]["path"] for key, one in container.items() if "Probe" in key}
        wanted = {"startupProbe": LIVENESS, "livenessProbe": LIVENESS, "readinessProbe": READINESS}
        assert probes == (wanted if container["name"] == "web" else {})


def test_probed_paths_exist() -> None:
    for path in (READINESS, LIVENESS):
        assert resolve(path).func is not None
    scripted = (DEPLOY / "healthcheck.py").read_text()
    assert f'PATH = "{READINESS}"' in scripted
    scraped = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["scrape_configs"][0]
    assert resolve(scraped["metrics_path"]).func is not None
    (target,) = scraped["static_configs"][0]["targets"]
    assert target == "web:9650"
    for container in NODE_CONTAINERS:
        assert {"web", "node"} & set(container.environment["NODE_ALLOWED_HOSTS"].split(","))


def test_prometheus_of_compose_has_the_rules_of_monitoring() -> None:
    own = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
    example = yaml.safe_load((ROOT / "monitoring/prometheus.yml").read_text())
    assert own["rule_files"] == example["rule_files"]
    mounted = " ".join(deployed.compose()["services"]["prometheus"]["volumes"])
    assert all(f"/etc/prometheus/{name}:ro" in mounted for name in own["rule_files"])


def test_published_ports_are_the_nodes() -> None:
    defaults = {name: default for name, default, _ in table(NodeSettings)}
    http, staking = int(defaults["NODE_HTTP_PORT"]), int(defaults["NODE_STAKING_PORT"])
    assert ("EXPOSE", f"{http} {staking}") in deployed.dockerfile()
    services = deployed.compose()["services"]
    assert services["web"]["ports"] == [f"127.0.0.1:{http}:{http}"]
    assert services["network"]["ports"] == [f"{staking}:{staking}"]
    named = {
        port["name"]: port["containerPort"]
        for item in deployed.pod()["containers"]
        for port in item.get("ports", ())
    }
    assert named == {"http": http, "staking": staking}
    for manifest in deployed.manifests():
        if manifest["kind"] == "Service":
            for port in manifest["spec"]["ports"]:
                assert named[port["targetPort"]] == port["port"]


def test_image_contains_exactly_the_packages_and_their_start() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = set(project["tool"]["maturin"]["python-packages"])
    sources = {source for source, _ in deployed.copied()}
    assert sources == packages | {"manage.py", "LICENSE", "LICENCES.md", "deploy/healthcheck.py"}
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    wanted = [
        source
        for word, rest in deployed.dockerfile()
        if word == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    ]
    assert [item for item in wanted if f"!{item}" not in ignored] == []
    assert [other for other in wanted if not (ROOT / other).exists()] == []
    assert "*" in ignored


def test_image_has_a_build_stage_and_runs_unprivileged() -> None:
    steps = deployed.dockerfile()
    stages = [rest for word, rest in steps if word == "FROM"]
    assert stages[0].endswith(" AS build")
    assert stages[1].endswith(" AS node")
    assert stages[2:] == ["node AS developer", "node"]
    assert steps[-1] == ("FROM", "node")  # what is built without --target
    users = [rest for word, rest in deployed.stage("node") if word == "USER"]
    assert users == ["10001:10001"]
    assert [rest for word, rest in deployed.stage("developer") if word == "USER"][-1:] == users
    assert not [word for word, _ in steps if word == "ADD"]
    security = deployed.pod()["securityContext"]
    assert (security["runAsNonRoot"], security["runAsUser"]) == (True, 10001)
    (health,) = [rest for word, rest in steps if word == "HEALTHCHECK"]
    assert health.endswith('CMD ["python", "deploy/healthcheck.py"]')
    assert ("CMD", '["python", "manage.py", "runnode"]') in steps
    variables = deployed.image_environment() | deployed.environment("developer")
    assert {name for name in variables if name.startswith("NODE_")} <= SETTINGS


def test_image_can_run_compilers_from_its_volume() -> None:
    steps = deployed.stage("node")
    (installing,) = [rest for word, rest in steps if word == "RUN" and "apt-get install" in rest]
    installed = installing.split("apt-get install")[1].split("&&")[0].split()
    assert {"python3", "nodejs"} <= set(installed)
    place = deployed.image_environment()["NODE_SOLC_DIRECTORY"]
    (volume,) = [rest for word, rest in steps if word == "VOLUME"]
    assert Path(place).parent == Path(volume)
    text = (ROOT / "docs/verification.md").read_text()
    assert f"--prefix {place} " in text
    assert f"kubectl cp {Path(place).name} node-0:{volume} " in text
    assert f"--volume deploy_compilers:{place} " in text


def test_compilers_have_containers_without_keys_passwords_and_data() -> None:
    place = deployed.image_environment()["NODE_SOLC_DIRECTORY"]
    command = ["python", "-m", "nodeproject.compilers"]
    assert find_spec(command[-1]) is not None

    composed = deployed.compose()["services"][COMPILERS]
    assert composed["command"] == command
    assert (composed["network_mode"], composed["read_only"], composed["cap_drop"]) == (
        "none",
        True,
        ["ALL"],
    )
    assert composed["environment"].keys() == {"NODE_SOLC_SOCKET"}
    socket = composed["environment"]["NODE_SOLC_SOCKET"]
    mounts = f"compiler-socket:{Path(socket).parent}"
    assert composed["volumes"] == [f"compilers:{place}:ro", mounts]

    (in_pod,) = [other for other in deployed.all_in_pod() if other["name"] == COMPILERS]
    assert in_pod["command"] == command
    assert "envFrom" not in in_pod
    (given,) = in_pod["env"]
    assert given["name"] == given["valueFrom"]["configMapKeyRef"]["key"] == "NODE_SOLC_SOCKET"
    assert {item["name"] for item in in_pod["volumeMounts"]} == {
        "compilers",
        "compiler-socket",
        "temporary",
    }
    (installed,) = [entry for entry in in_pod["volumeMounts"] if entry["name"] == "compilers"]
    assert (installed["mountPath"], installed["readOnly"]) == (place, True)
    assert in_pod["resources"]["limits"]["memory"] == "3Gi"
    assert composed["mem_limit"] == "3g"
    assert NodeSettings().explorer.solc_memory < (3 << 30) * 3 // 4

    assert all(
        node_container.environment["NODE_SOLC_SOCKET"] == socket
        for node_container in NODE_CONTAINERS
    )
    nodes = [deployed.compose()["services"][element.name] for element in deployed.composed()]
    assert all(mounts in node["volumes"] for node in nodes)
    asking = {"web", "worker"}
    for one in deployed.all_in_pod():
        mounted = {(mount["name"], mount["mountPath"]) for mount in one["volumeMounts"]}
        has_socket = ("compiler-socket", str(Path(socket).parent)) in mounted
        assert has_socket == (one["name"] in {*asking, COMPILERS})


def test_the_compiler_of_the_image_is_new_enough_for_the_engine() -> None:
    crate = tomllib.loads((ROOT / "native/Cargo.toml").read_text())
    assert deployed.dockerfile()[0][1].startswith(f"rust:{crate['package']['rust-version']}-")


@pytest.mark.parametrize("manifest", deployed.manifests(), ids=lambda one: one["metadata"]["name"])
def test_manifests_match_the_kubernetes_schema(manifest: dict[str, Any]) -> None:
    jsonschema.validate(manifest, KINDS[manifest["kind"]])
    broken = {**manifest, "metadata": {**manifest["metadata"], "lables": {}}}
    with pytest.raises(jsonschema.ValidationError, match="lables"):
        jsonschema.validate(broken, KINDS[manifest["kind"]])


def test_manifests_define_one_pod_and_their_references() -> None:
    workload = deployed.of_kind("StatefulSet")
    spec, pod = workload["spec"], deployed.pod()
    assert spec["replicas"] == 1
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    volumes = {item["name"] for item in pod["volumes"]}
    volumes |= {other["metadata"]["name"] for other in spec["volumeClaimTemplates"]}
    services = {
        manifest["metadata"]["name"]
        for manifest in deployed.manifests()
        if manifest["kind"] == "Service"
    }
    assert spec["serviceName"] in services
    told = (DEPLOY / "kubernetes" / "README.md").read_text()
    for element in deployed.all_in_pod():
        if element["name"] == COMPILERS:
            continue
        mounted = {mount["name"] for mount in element["volumeMounts"]}
        assert {"data", "identity", "temporary"} <= mounted <= volumes
        for source in element["envFrom"]:
            if "secretRef" in source:
                assert f"create secret generic {source['secretRef']['name']} " in told
            else:
                assert (
                    source["configMapRef"]["name"]
                    == deployed.of_kind("ConfigMap")["metadata"]["name"]
                )
    (secret,) = [entry["secret"]["secretName"] for entry in pod["volumes"] if "secret" in entry]
    assert f"create secret generic {secret} " in told
    mounted = {
        name: value
        for name, value in deployed.of_kind("ConfigMap")["data"].items()
        if name.endswith("_FILE")
    }
    assert {Path(value).parent for value in mounted.values()} == {Path("/etc/node/identity")}


def test_pod_gets_no_service_variables() -> None:
    assert deployed.pod()["enableServiceLinks"] is False


def test_manifests_contain_no_secret() -> None:
    assert [manifest for manifest in deployed.manifests() if manifest["kind"] == "Secret"] == []
    assert not {"NODE_DATABASE_URL", "NODE_REDIS_URL"} & set(deployed.of_kind("ConfigMap")["data"])


def test_grafana_has_the_datasource_and_dashboard() -> None:
    (source,) = yaml.safe_load((DEPLOY / "grafana/datasource.yml").read_text())["datasources"]
    assert (source["type"], source["url"]) == ("prometheus", "http://prometheus:9090")
    (provider,) = yaml.safe_load((DEPLOY / "grafana/dashboards.yml").read_text())["providers"]
    mounted = " ".join(deployed.compose()["services"]["grafana"]["volumes"])
    assert f"{provider['options']['path']}/" in mounted
