"""Settings from the environment: parsed by type, rejected with a message."""

from dataclasses import dataclass
from ipaddress import ip_address

import pytest

from nodeproject.settings.flags import (
    OTHERS,
    BadSetting,
    is_service_link,
    linked,
    read,
    table,
    unknown,
    with_values,
)
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.profile import PROFILES, UnknownProfile, choose_settings
from primitives.settings import TextFormat, flag, group


@dataclass(frozen=True)
class Example:
    port: int = flag(1, "A port.", least=0, most=9)
    ratio: float = flag(0.5, "A ratio.", least=0.1)
    on: bool = flag(default=False, meaning="A switch.")
    hosts: tuple[str, ...] = flag(("a", "b"), "Hosts.")
    mode: str = flag("x", "A mode.", choices=("x", "y"))
    proxies: tuple[str, ...] = flag((), "Proxies.", form=TextFormat("an address", ip_address))


def test_defaults_apply_without_environment() -> None:
    assert read(Example, {}) == Example()


def test_values_are_read_by_their_types() -> None:
    environ = {
        "NODE_PORT": " 7 ", "NODE_RATIO": "2", "NODE_ON": "Yes", "NODE_HOSTS": "c, d,", "NODE_MODE": "y",
    }  # fmt: skip

    assert read(Example, environ) == Example(7, 2.0, on=True, hosts=("c", "d"), mode="y")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("NODE_PORT", "x", "NODE_PORT is 'x'; it must be a whole number from 0 to 9"),
        ("NODE_PORT", "10", "NODE_PORT is '10'; it must be a whole number from 0 to 9"),
        ("NODE_PORT", "-1", "NODE_PORT is '-1'; it must be a whole number from 0 to 9"),
        ("NODE_RATIO", "", "NODE_RATIO is ''; it must be a number, 0.1 or more"),
        ("NODE_RATIO", "0", "NODE_RATIO is '0'; it must be a number, 0.1 or more"),
        ("NODE_RATIO", "nan", "NODE_RATIO is 'nan'; it must be a number, 0.1 or more"),
        ("NODE_RATIO", "inf", "NODE_RATIO is 'inf'; it must be a number, 0.1 or more"),
        ("NODE_ON", "maybe", "NODE_ON is 'maybe'; it must be true or false"),
        ("NODE_MODE", "z", "NODE_MODE is 'z'; it must be one of x, y"),
        (
            "NODE_PROXIES",
            "10.0.0.1,me",
            "NODE_PROXIES is '10.0.0.1,me'; it must be an address, or several with commas",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_refused(name: str, value: str, words: str) -> None:
    with pytest.raises(BadSetting) as refused:
        read(Example, {name: value})

    assert str(refused.value) == words


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, "x") for name, default, _ in table(NodeSettings) if default.strip("-").isdigit()),
        ("NODE_MINING", "atuo"),
        ("NODE_HTTP_PORT", "99999"),
        ("NODE_NETWORK_ID", "-5"),
        ("NODE_RPC_THREADS", "0"),
        ("NODE_WEB_WORKERS", "0"),
        ("NODE_BLOCK_INTERVAL", "0"),
        ("NODE_HEALTH_INTERVAL", "nan"),
        ("NODE_NETWORK", "on"),
        ("NODE_TRUSTED_PROXIES", "proxy.lan"),
    ],
)
def test_invalid_setting_is_refused_with_the_allowed_values(name: str, value: str) -> None:
    with pytest.raises(BadSetting) as refused:
        read(NodeSettings, {name: value})

    assert str(refused.value).startswith(f"{name} is '{value}'; it must be ")
    assert "\n" not in str(refused.value)


def test_all_defaults_are_allowed() -> None:
    assert read(NodeSettings, {name: default for name, default, _ in table(NodeSettings)}) == (
        NodeSettings()
    )


def test_misspelled_name_suggests_the_nearest() -> None:
    environ = {
        "NODE_MINNG": "auto",
        "NODE_HTTPPORT": "1",
        "NODE_DATADIR": "x",
        "NODE_MINING": "auto",
    }

    assert unknown(NodeSettings, environ) == {
        "NODE_DATADIR": "NODE_DATA_DIR",
        "NODE_HTTPPORT": "NODE_HTTP_PORT",
        "NODE_MINNG": "NODE_MINING",
    }


def test_a_name_that_is_like_no_setting_is_found_too() -> None:
    assert unknown(NodeSettings, {"NODE_SOMETHING_ELSE": ""}) == {"NODE_SOMETHING_ELSE": None}


def test_variables_of_other_programs_are_passed_over() -> None:
    theirs = (
        "NODE_ENV", "NODE_PATH", "NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "NODE_NO_WARNINGS",
        "NODE_DEBUG", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_REPL_HISTORY", "NODE_V8_COVERAGE",
        "NODE_PENDING_DEPRECATION", "NODE_COMPILE_CACHE", "NODE_VERSION", "NODE_HOME", "NODE_NAME",
    )  # fmt: skip

    assert unknown(NodeSettings, dict.fromkeys((*theirs, "PATH", "XNODE_MINNG"), "")) == {}


def test_addresses_of_services_are_neither_settings_nor_mistakes() -> None:
    link = "tcp://10.0.0.1:9650"
    environ = {
        "NODE_HTTP_PORT": link, "NODE_STAKING_PORT": " tcp://[fd00::1]:9651", "NODE_PORT": link,
        "NODE_HTTP_SERVICE_HOST": "10.0.0.1", "NODE_HTTP_SERVICE_PORT": "9650",
        "NODE_HTTP_SERVICE_PORT_RPC": "9650", "NODE_HTTP_PORT_9650_TCP": link,
        "NODE_HTTP_PORT_9650_TCP_PROTO": "tcp", "NODE_HTTP_PORT_9650_TCP_PORT": "9650",
        "NODE_HTTP_PORT_9650_TCP_ADDR": "10.0.0.1",
    }  # fmt: skip

    assert read(NodeSettings, environ) == NodeSettings()
    assert linked(NodeSettings, environ) == ["NODE_STAKING_PORT", "NODE_HTTP_PORT"]
    assert unknown(NodeSettings, environ) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [("NODE_HTTP_PORT", "tcp:9650"), ("NODE_HTTP_PORT", "http://10.0.0.1:9650"), ("NODE_RPC_THREADS", "tcp://10.0.0.1:1")],
)  # fmt: skip
def test_other_values_of_a_number_are_still_refused(name: str, value: str) -> None:
    with pytest.raises(BadSetting, match=f"^{name} is "):
        read(NodeSettings, {name: value})
    assert linked(NodeSettings, {name: value}) == []


def test_no_setting_has_the_name_of_a_variable_that_only_a_service_has() -> None:
    assert not [name for name, _, _ in table(NodeSettings) if is_service_link(name, "")]


def test_no_setting_has_a_name_that_another_program_reads() -> None:
    assert not OTHERS & {name for name, _, _ in table(NodeSettings)}


def test_choice_ignores_letter_case() -> None:
    assert read(Example, {"NODE_MODE": "Y"}).mode == "y"


def test_table_shows_defaults_as_typed() -> None:
    assert list(table(Example)) == [
        ("NODE_PORT", "1", "A port."),
        ("NODE_RATIO", "0.5", "A ratio."),
        ("NODE_ON", "false", "A switch."),
        ("NODE_HOSTS", "a,b", "Hosts."),
        ("NODE_MODE", "x", "A mode."),
        ("NODE_PROXIES", "", "Proxies."),
    ]


@pytest.mark.parametrize(
    ("environ", "limit"),
    [
        ({}, 0),
        ({"NODE_NETWORK_ID": "1"}, 40),
        ({"NODE_NETWORK_ID": "5"}, 40),
        ({"NODE_NETWORK_ID": "5", "NODE_RATE_LIMIT": "0"}, 0),
        ({"NODE_RATE_LIMIT": "7"}, 7),
    ],
)
def test_public_networks_are_limited_and_a_local_node_is_not(
    environ: dict[str, str], limit: int
) -> None:
    assert read(NodeSettings, environ).requests_per_second == limit


def test_the_profile_chooses_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE", raising=False)
    monkeypatch.setenv("NODE_PROFILE", "production")
    choose_settings()

    import os

    assert os.environ["DJANGO_SETTINGS_MODULE"] == PROFILES["production"]


def test_an_unknown_profile_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_PROFILE", "prod")

    with pytest.raises(UnknownProfile, match="NODE_PROFILE is 'prod'"):
        choose_settings()


@pytest.mark.parametrize(
    ("environ", "written"),
    [
        ({}, True),
        ({"NODE_NETWORK_ID": "77"}, False),
        ({"NODE_NETWORK_ID": "77", "NODE_TRACE_INDEX": "on"}, True),
        ({"NODE_TRACE_INDEX": "off"}, False),
    ],
)
def test_call_index_defaults_to_the_local_network(environ, written):
    assert read(NodeSettings, environ).indexes_calls is written


@pytest.mark.parametrize(
    ("environ", "written"),
    [
        ({}, True),
        ({"NODE_NETWORK_ID": "77"}, False),
        ({"NODE_NETWORK_ID": "77", "NODE_TOKEN_INDEX": "on"}, True),
        ({"NODE_TOKEN_INDEX": "off"}, False),
    ],
)
def test_token_index_defaults_to_the_local_network(environ, written):
    assert read(NodeSettings, environ).indexes_tokens is written


@dataclass(frozen=True)
class Inner:
    slots: int = flag(1, "Slots.", least=0)


@dataclass(frozen=True)
class Outer:
    first: int = flag(1, "A number.")
    pool: Inner = group(Inner, "pool_")
    plain: Example = group(Example)


def test_a_group_contributes_the_settings_of_its_fields() -> None:
    names = [name for name, _, _ in table(Outer)]
    assert names[:3] == ["NODE_FIRST", "NODE_POOL_SLOTS", "NODE_PORT"]

    settings = read(Outer, {"NODE_POOL_SLOTS": "7", "NODE_PORT": "9"})
    assert settings == Outer(pool=Inner(7), plain=Example(port=9))
    with pytest.raises(
        BadSetting, match="NODE_POOL_SLOTS is '-1'; it must be a whole number, 0 or more"
    ):
        read(Outer, {"NODE_POOL_SLOTS": "-1"})


def test_settings_are_changed_by_name() -> None:
    settings = with_values(Outer(), {"pool_slots": 7, "first": 2})

    assert settings == Outer(first=2, pool=Inner(7))
    with pytest.raises(KeyError):
        with_values(Outer(), {"slots": 7})


def test_no_two_settings_have_the_same_name() -> None:
    names = [name for name, _, _ in table(NodeSettings)]

    assert len(names) == len(set(names))
