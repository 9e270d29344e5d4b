"""NODE_CHAINS: the chains in which a node takes part, and the messages about the others."""

from typing import Any

import pytest

from chaindb.chains import C_CHAIN, P_CHAIN, absence, is_left_out
from nodeproject.settings.flags import BadSetting, read
from nodeproject.settings.given import with_platform
from nodeproject.settings.node import NodeSettings
from tests.builders.node_settings import updated


def chains(text: str) -> tuple[str, ...]:
    return read(NodeSettings, {"NODE_CHAINS": text}).common.chains


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("P", ("P",)),
        ("p", ("P",)),
        ("C,P", ("P", "C")),
        ("P, C, P", ("P", "C")),
        ("C,X,P", ("P", "X", "C")),
    ],
)
def test_chains_are_reported_by_their_letters_in_any_order(
    text: str, wanted: tuple[str, ...]
) -> None:
    assert chains(text) == wanted


def test_all_are_the_default() -> None:
    assert read(NodeSettings, {}).common.chains == ("P", "X", "C")


@pytest.mark.parametrize("text", ["Y", "P,Z", "P;C"])
def test_an_unknown_chain_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(BadSetting, match=r"^NODE_CHAINS is '.+'; it must be one of P, X, C$"):
        chains(text)


@pytest.mark.parametrize("given", [("C",), ()])
def test_no_node_is_without_the_p_chain(given: tuple[str, ...]) -> None:
    words = (
        rf"^NODE_CHAINS is '{','.join(given)}'; every node takes part in the P-Chain: it must be P,"
    )
    with pytest.raises(BadSetting, match=words):
        with_platform(updated(NodeSettings(), chains=given))


def test_absent_chain_is_reported(settings: Any) -> None:
    assert not is_left_out(P_CHAIN)
    assert not is_left_out(C_CHAIN)
    settings.NODE = updated(settings.NODE, chains=("P",))
    assert not is_left_out(P_CHAIN)
    assert not is_left_out("D")
    assert is_left_out(C_CHAIN)
    assert absence(C_CHAIN) == "this node does not take part in the C-Chain (NODE_CHAINS)"
