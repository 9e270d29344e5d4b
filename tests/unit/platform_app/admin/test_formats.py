"""The admin's formats of coins, shares and names of the P-Chain."""

import pytest

from platform_app.admin.display import (
    format_coins,
    format_fraction,
    format_share,
    format_vm,
    plain_coins,
    round_coins,
)
from platform_app.apps import platform_chain
from platform_app.config import reference_config, specification_config
from primitives.ids import EVM_ID, ID, PRIMARY_NETWORK_ID


@pytest.mark.parametrize(
    ("config", "text"),
    [(specification_config(12345), "1,234.5 AVAX"), (reference_config(12345), "1.2345 AVAX")],
)
def test_coins_are_written_at_the_scale_of_the_network(
    monkeypatch: pytest.MonkeyPatch, config: object, text: str
) -> None:
    monkeypatch.setattr(platform_chain(), "config", config)
    assert format_coins(1_234_500_000) == text


def test_lists_truncate_amounts_and_exports_keep_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform_chain(), "config", reference_config(12345))
    amount = 1_234_000_000_001
    assert format_coins(amount) == "1,234.000000001 AVAX"
    assert round_coins(amount) == "1,234 AVAX"
    assert plain_coins(amount) == "1234.000000001"


@pytest.mark.parametrize(
    ("millionths", "text"),
    [(20_000, "2 %"), (25_500, "2.55 %"), (1_000_000, "100 %"), (1, "0.0001 %"), (0, "0 %")],
)
def test_a_share_is_exact(millionths: int, text: str) -> None:
    assert format_share(millionths) == text


@pytest.mark.parametrize(
    ("fraction", "text"), [(1.0, "100.00 %"), (0.99999, "99.99 %"), (0.8, "80.00 %"), (0, "0.00 %")]
)
def test_a_fraction_is_never_rounded_up(fraction: float, text: str) -> None:
    assert format_fraction(fraction) == text


def test_vm_is_named_if_its_id_is_known() -> None:
    assert format_vm(EVM_ID) == "evm"
    for unnamed in (PRIMARY_NETWORK_ID, ID(bytes(range(32))), ID(b"\xff" * 32)):
        assert format_vm(unnamed) == str(unnamed)
