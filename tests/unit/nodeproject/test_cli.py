"""The command `firn`: what is run for what is typed."""

import gc
import sys
from collections.abc import Iterator

import pytest
from django.core import management

from nodeproject import cli


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    """What Django was asked to run."""
    asked: list[list[str]] = []
    monkeypatch.setattr(management, "execute_from_command_line", asked.append)
    thresholds = gc.get_threshold()
    yield asked
    gc.set_threshold(*thresholds)


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ([], ["firn", "runnode"]),
        (["node_status"], ["firn", "node_status"]),
        (["time_travel", "30d"], ["firn", "time_travel", "30d"]),
        (["shell", "-c", "manage"], ["firn", "shell", "-c", "manage"]),
    ],
)
def test_without_a_command_it_is_the_node(
    run: list[list[str]], typed: list[str], command: list[str]
) -> None:
    cli.main(typed)

    assert run == [command]


def test_it_takes_what_its_process_was_given(
    run: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/firn", "node_settings"])

    cli.main()

    assert run == [["firn", "node_settings"]]
