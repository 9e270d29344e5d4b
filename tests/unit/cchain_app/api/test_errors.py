"""Every application error has a code, and each class has its own row."""

import pytest

from cchain_app.accounts.keyring import TooManyAccounts, UnknownAccount
from cchain_app.accounts.messages import BadTypedData
from cchain_app.api import errors
from cchain_app.development.errors import DevelopmentError
from cchain_app.evm.engine import CallRejected
from cchain_app.evm.overrides import BadOverride
from cchain_app.evm.tracing import TraceTimedOut
from cchain_app.feemarket import InvalidPercentiles
from cchain_app.forking.errors import ForkRefused, NoForkedProof, UpstreamError
from cchain_app.pool.errors import PoolReason, PoolRejection
from cchain_app.selectors.logs import TooManyLogs
from cchain_app.selectors.state_ranges import RangeTimedOut
from cchain_app.selectors.tracing import (
    GenesisNotTraceable,
    TraceDiffers,
    TransactionIndexOutOfRange,
)
from cchain_app.selectors.tries import ProofWindowPassed
from cchain_app.services.pending import PendingBlockNotBuilt
from cchain_app.services.poll_filters import FilterNotFound
from cchain_app.services.tracing import BlockNotTraceable
from cchain_app.services.warp import WarpRefused
from cchain_app.simulation.plan import SimulationReason, SimulationRefused, not_applied
from cchain_app.store.history import HistoryPruned
from cchain_app.tracing.options import BadTraceConfig
from cchain_app.txs.transaction import InvalidTransaction
from chaindb.indexing import IndexBehind

ROOTS = (
    DevelopmentError,
    InvalidTransaction, PoolRejection, BadOverride, InvalidPercentiles, FilterNotFound, CallRejected,
    TooManyLogs, ProofWindowPassed, RangeTimedOut, SimulationRefused, GenesisNotTraceable, TransactionIndexOutOfRange, TraceDiffers,
    BlockNotTraceable, BadTraceConfig, TraceTimedOut, UnknownAccount, BadTypedData, TooManyAccounts,
    ForkRefused, UpstreamError, NoForkedProof, HistoryPruned, PendingBlockNotBuilt, IndexBehind, WarpRefused,
)  # fmt: skip


def with_descendants(root: type[Exception]) -> list[type[Exception]]:
    return [
        root,
        *(
            with_descendant
            for child in root.__subclasses__()
            for with_descendant in with_descendants(child)
        ),
    ]


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.__name__)
def test_each_class_of_a_tree_has_its_row(root):
    assert [
        with_descendant.__name__
        for with_descendant in with_descendants(root)
        if with_descendant not in errors.CODES
    ] == []


def test_no_row_is_for_something_else():
    known = {with_descendant for root in ROOTS for with_descendant in with_descendants(root)}
    assert set(errors.CODES) == known


def test_a_rejection_is_reported():
    error = errors.to_error_object(PoolRejection(PoolReason.NONCE_TOO_LOW, next_nonce=5, nonce=3))
    assert (error.code, error.message) == (-32000, "nonce too low: next nonce 5, tx nonce 3")


def test_too_many_logs_are_a_limit():
    error = errors.to_error_object(TooManyLogs(10_000))
    assert (error.code, error.message) == (-32005, "query returned more than 10000 results")


@pytest.mark.parametrize("reason", SimulationReason, ids=lambda reason: reason.name)
def test_each_reason_to_reject_a_simulation_has_its_code(reason):
    assert reason in errors.REASON_CODES


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (SimulationRefused(SimulationReason.NO_BLOCKS), -32602, "empty input"),
        (SimulationRefused(SimulationReason.TOO_MANY_BLOCKS), -38026, "too many blocks"),
        (not_applied("nonce too low: x", 5), -38010, "err: nonce too low: x (supplied gas 5)"),
        (
            not_applied("insufficient gas for floor data gas cost: x", 5),
            -38013,
            "err: insufficient gas for floor data gas cost: x (supplied gas 5)",
        ),
        (not_applied("anything else", 5), -32603, "err: anything else (supplied gas 5)"),
    ],
)
def test_the_code_may_follow_from_the_reason(error, code, message):
    answer = errors.to_error_object(error)
    assert (answer.code, answer.message) == (code, message)


def test_unexpected_exception_has_no_error_object():
    assert errors.to_error_object(KeyError("x")) is None
