"""The admin's pages of L1s and their validators."""

import pytest

from platform_app import models
from platform_app.store.l1_validators import owner_bytes
from platform_app.txs.l1 import PChainOwner
from primitives.ids import NodeID
from tests.builders import platform
from tests.integration.admin_pages import Browse
from tests.integration.platform_app.admin.paths import detail, listing
from tests.integration.platform_app.conftest import PChain

L1 = platform.some_id("an L1")
NODE = NodeID(bytes(19) + b"\x07")
VALIDATION = platform.some_id("a validation")


@pytest.fixture(autouse=True)
def rows(pchain: PChain) -> None:
    owner = owner_bytes(PChainOwner(1, (platform.ADDRESSES[0],)))
    models.Chain.objects.update(l1_accrued_fees=1_000_000)
    models.L1Conversion.objects.create(
        subnet_id=L1,
        conversion_id=platform.some_id("conversion"),
        manager_chain_id=pchain.network.c_chain_id,
        manager_address=bytes(19) + b"\x09",
        height=0,
    )
    models.L1Validator.objects.create(
        validation_id=VALIDATION,
        subnet_id=L1,
        node_id=NODE,
        node=str(NODE),
        public_key=bytes(48),
        remaining_balance_owner=owner,
        deactivation_owner=owner,
        start_time=pchain.now,
        weight=12_345,
        min_nonce=3,
        end_accumulated_fee=3_500_000,
        is_active=True,
        added_height=0,
    )


def test_l1s_are_listed_and_shown(browse: Browse) -> None:
    listed = browse(listing("l1conversion")).text
    assert f"0x{'0' * 38}09" in listed
    shown = browse(detail("l1conversion", L1)).text
    assert str(platform.some_id("conversion")) in shown
    assert str(L1) in shown


def test_validators_show_the_balance_that_is_left(browse: Browse) -> None:
    for query in ("", f"?q={L1}", f"?q={NODE}", f"?q={VALIDATION}"):
        listed = browse(f"{listing('l1validator')}{query}").text
        assert "12,345" in listed
        assert "active" in listed
        assert 'title="2,500,000 units"' in listed
    models.L1Validator.objects.update(is_active=False, end_accumulated_fee=0)
    shown = browse(detail("l1validator", VALIDATION)).text
    assert "inactive" in shown
    assert "2,500,000 units" not in shown
    assert f"0x{'00' * 48}" in shown
