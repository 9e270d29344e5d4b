"""Settings from the environment: read by type, refused in words."""

from dataclasses import dataclass

import pytest

from nodeproject.profile import PROFILES, UnknownProfile, choose_settings
from nodeproject.settings.flags import BadSetting, flag, read, table
from nodeproject.settings.node import NodeSettings


@dataclass(frozen=True)
class Example:
    port: int = flag(1, "A port.")
    ratio: float = flag(0.5, "A ratio.")
    on: bool = flag(default=False, meaning="A switch.")
    hosts: tuple[str, ...] = flag(("a", "b"), "Hosts.")
    mode: str = flag("x", "A mode.", choices=("x", "y"))


def test_defaults_hold_where_the_environment_says_nothing() -> None:
    assert read(Example, {}) == Example()


def test_values_are_read_by_their_types() -> None:
    environ = {
        "NODE_PORT": " 9650 ", "NODE_RATIO": "2", "NODE_ON": "Yes", "NODE_HOSTS": "c, d,", "NODE_MODE": "y",
    }  # fmt: skip

    assert read(Example, environ) == Example(9650, 2.0, on=True, hosts=("c", "d"), mode="y")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("NODE_PORT", "x", "NODE_PORT is 'x', which is no int"),
        ("NODE_RATIO", "", "NODE_RATIO is '', which is no float"),
        ("NODE_ON", "maybe", "NODE_ON is 'maybe', which is no bool"),
        ("NODE_MODE", "z", "NODE_MODE is 'z'; it must be one of x, y"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(name: str, value: str, words: str) -> None:
    with pytest.raises(BadSetting, match=words):
        read(Example, {name: value})


def test_a_choice_may_be_written_in_any_case() -> None:
    assert read(Example, {"NODE_MODE": "Y"}).mode == "y"


def test_the_table_shows_defaults_as_one_would_write_them() -> None:
    assert list(table(Example)) == [
        ("NODE_PORT", "1", "A port."),
        ("NODE_RATIO", "0.5", "A ratio."),
        ("NODE_ON", "false", "A switch."),
        ("NODE_HOSTS", "a,b", "Hosts."),
        ("NODE_MODE", "x", "A mode."),
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
