"""The bisection for a gas limit, on simulated calls."""

import pytest

from cchain_app.evm.engine import AccountState, CallResult, GasEstimate
from cchain_app.evm.estimation import is_plain, least_gas
from primitives.evm import Address
from primitives.hashing import EMPTY_HASH, keccak256
from tests.builders.cchain import call_message

NOBODY = Address(b"\x0e" * 20)
MOST = 30_000_000


class Played:
    """A simulated call that uses some gas and needs more than that."""

    def __init__(self, used: int, needed: int, error: str = "out of gas") -> None:
        self.used, self.needed, self.error = used, needed, error
        self.tried: list[int] = []

    def __call__(self, gas: int) -> CallResult | None:
        self.tried.append(gas)
        if gas < 21_000:
            return None
        error = None if gas >= self.needed else self.error
        return CallResult(b"", self.used, self.used, error)


@pytest.mark.parametrize("used", [21_000, 45_000, 1_000_000, 29_000_000])
@pytest.mark.parametrize("more", [0, 1, 700, 40_000, 900_000])
def test_limit_suffices_and_is_close_to_the_minimum(used: int, more: int) -> None:
    call = Played(used, used + more)
    found = least_gas(call, MOST, 0.015)
    assert found.gas is not None
    assert found.gas >= call.needed
    assert found.gas - call.needed <= found.gas * 0.015
    assert found.failure is None


def test_without_tolerance_the_limit_is_the_least() -> None:
    assert least_gas(Played(45_000, 61_234), MOST, 0.0) == GasEstimate(61_234)


def test_first_guess_is_used_gas_plus_stipend_and_a_64th() -> None:
    call = Played(45_000, 45_000)
    least_gas(call, MOST, 0.015)
    assert call.tried[:2] == [MOST, (45_000 + 2_300) * 64 // 63]


def test_guess_above_the_maximum_is_not_tried() -> None:
    call = Played(45_000, 45_000)
    assert least_gas(call, 45_100, 0.015).gas == 45_100
    assert call.tried == [45_100]


def test_the_low_side_is_tried_first() -> None:
    call = Played(30_000, 1_000_000)
    least_gas(call, MOST, 0.015)
    guess = (30_000 + 2_300) * 64 // 63
    assert call.tried[1:4] == [guess, 2 * guess, 4 * guess]


@pytest.mark.parametrize(
    "words", ["out of gas", "out of gas: not enough gas for reentrancy sentry"]
)
def test_call_that_exhausts_the_maximum_has_no_limit(words: str) -> None:
    assert least_gas(Played(MOST, MOST + 1, words), MOST, 0.015) == GasEstimate(None)


def test_maximum_below_intrinsic_gas_has_no_limit() -> None:
    assert least_gas(Played(21_000, 21_000), 20_999, 0.015) == GasEstimate(None)


def test_another_failure_is_the_answer() -> None:
    call = Played(30_000, MOST + 1, "invalid jump destination")
    found = least_gas(call, MOST, 0.015)
    assert found == GasEstimate(None, call(MOST))


@pytest.mark.parametrize(
    ("to", "data", "code_hash", "plain"),
    [
        (NOBODY, b"", EMPTY_HASH, True),
        (NOBODY, b"", None, True),
        (NOBODY, b"\x00", EMPTY_HASH, False),
        (NOBODY, b"", keccak256(b"\x00"), False),
        (None, b"", EMPTY_HASH, False),
    ],
)
def test_a_plain_call_has_no_data_and_runs_no_code(to, data, code_hash, plain) -> None:
    account = None if code_hash is None else AccountState(0, 0, code_hash)
    assert is_plain(call_message(to, data), lambda _address: account) is plain
