"""The warning that other machines can call a node's development methods."""

from types import SimpleNamespace
from typing import Any

import pytest

from nodeproject.management.commands.runnode import exposure


def node(host: str, *, development: bool = True, tokens: tuple[str, ...] = ()) -> Any:
    return SimpleNamespace(
        settings=SimpleNamespace(http_host=host, rpc_tokens=tokens),
        evm_chain=SimpleNamespace(has_development_methods=development),
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "::1", "[::1]", "localhost"])
def test_loopback_address_gives_no_warning(host: str) -> None:
    assert exposure(node(host)) == ""


@pytest.mark.parametrize(
    ("host", "named"),
    [("0.0.0.0", "0.0.0.0"), ("::", "::"), ("*", "*"), ("", "*"), ("10.1.2.3", "10.1.2.3")],
)
def test_open_address_is_named_with_remedies(host: str, named: str) -> None:
    warning = exposure(node(host))

    assert warning.startswith(
        f"Development methods are open to other machines, because HTTP listens on {named}: "
    )
    for name in ("NODE_HTTP_HOST=127.0.0.1", "NODE_RPC_TOKEN_FILE", "NODE_PROFILE=production"):
        assert name in warning


def test_a_token_or_no_such_methods_are_enough() -> None:
    assert exposure(node("0.0.0.0", development=False)) == ""
    assert exposure(node("0.0.0.0", tokens=("0123456789abcdef",))) == ""
