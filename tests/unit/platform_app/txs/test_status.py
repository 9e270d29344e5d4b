"""Statuses: the reference's numbers and the specification's names."""

from platform_app.txs.base import TxStatus


def test_statuses_have_avalanchegos_numbers_and_specified_labels() -> None:
    assert {status.label: int(status) for status in TxStatus} == {
        "Unknown": 0,
        "Committed": 4,
        "Aborted": 5,
        "Processing": 6,
        "Dropped": 8,
    }
