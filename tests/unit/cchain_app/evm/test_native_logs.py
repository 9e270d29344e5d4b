"""Logs of receipts: the crate encodes them as Python does, for any contents and any number."""

import pytest
from hypothesis import given

from cchain_app.blocks import receipt
from cchain_app.evm.engine import Log
from tests.builders.emitted_logs import FEW, MANY_ALIKE, NO_LOGS

native = pytest.importorskip("cchain_app.evm.native")


@given(FEW | MANY_ALIKE)
def test_the_crate_encodes_logs_as_python_does(drawn: tuple[Log, ...]) -> None:
    assert native.encode_logs(drawn) == receipt.encode_logs(drawn)


@pytest.mark.parametrize("log", NO_LOGS)
def test_malformed_log_is_refused(log: Log) -> None:
    with pytest.raises((TypeError, ValueError)):
        native.encode_logs((log,))


def test_log_encoder_matches_the_engine() -> None:
    assert receipt.select_encode_logs(native=True) is native.encode_logs
    assert receipt.select_encode_logs(native=False) is receipt.encode_logs
