"""Time and delay of a block against the reference's errors."""

from typing import Any

import pytest

from cchain_app.blocks.errors import BlockRefused
from cchain_app.rules.coreth import verification
from cchain_app.rules.coreth.header import CorethHeader
from primitives.evm import ZERO_HASH, Address
from primitives.upgrades import UpgradeTimes
from tests.conformance.coreth_vectors import cases

_PREFIX = "failed to verify block: "


def _header(time: int, milliseconds: int | None, excess: int | None) -> CorethHeader:
    return CorethHeader(
        parent_hash=ZERO_HASH,
        coinbase=Address(bytes(20)),
        state_root=ZERO_HASH,
        transactions_root=ZERO_HASH,
        receipts_root=ZERO_HASH,
        logs_bloom=bytes(256),
        number=1,
        gas_limit=0,
        gas_used=0,
        timestamp=time,
        time_milliseconds=milliseconds,
        min_delay_excess=excess,
    )


def _outcome(check: Any, *values: Any) -> str | None:
    try:
        check(*values)
    except BlockRefused as refusal:
        return str(refusal).removeprefix(_PREFIX)
    return None


@pytest.mark.parametrize("case", cases("verify_time"))
def test_time_and_delay(case: dict[str, Any]) -> None:
    upgrades = UpgradeTimes(granite=case["graniteTime"])
    parent = _header(
        case["parentTimestamp"], case["parentTimeMilliseconds"], case["parentMinDelayExcess"]
    )
    header = _header(case["timestamp"], case["timeMilliseconds"], case["minDelayExcess"])
    excess = _outcome(verification.verify_min_delay_excess, header, parent, upgrades)
    assert excess == case["minDelayExcessError"]
    time = _outcome(verification.verify_time, header, parent, case["nowMilliseconds"], upgrades)
    assert time == case["timeError"]
