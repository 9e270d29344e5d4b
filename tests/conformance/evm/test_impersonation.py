"""Unsigned (impersonated) transactions in both engines: they name their sender, which may have code."""

from typing import Any

import pytest

from cchain_app.evm.engine import Engine, ExecutionInvalid
from cchain_app.evm.select import select_engine
from cchain_app.evm.tracing import Recording
from cchain_app.txs.signing import impersonate
from cchain_app.txs.transaction import ACCESS_LIST, DYNAMIC_FEE, LEGACY, SET_CODE, Transaction
from primitives.evm import Address
from tests.builders import bytecode
from tests.builders.cchain import (
    COIN,
    JUNK_KEYS,
    SENDERS,
    MemoryState,
    authorization,
    block_env,
    genesis_state,
)
from tests.builders.transactions import RECIPIENT, signed, unsigned
from tests.conformance.evm.test_differential import assert_same_block

FORKS = ("berlin", "london", "shanghai", "cancun", "prague", "osaka")
CONTRACT = Address(b"\xc0" * 20)
STRANGER = Address(b"\x57" * 20)


@pytest.fixture
def state() -> MemoryState:
    """A contract and an account without a known key, both with coins."""
    made = genesis_state()
    made.put(CONTRACT, balance=COIN, nonce=1, code=bytecode.COUNTER)
    made.put(STRANGER, balance=COIN)
    return made


def sent(sender: Address, **changes: Any) -> Transaction:
    return impersonate(unsigned(type=LEGACY, **changes), sender)


def test_a_contract_sends(engine: Engine, state: MemoryState) -> None:
    block = engine.execute_block(
        block_env(), [sent(CONTRACT, nonce=1, value=5)], state, skip_invalid=False
    )

    assert block.results[0].succeeded
    after = block.changes.accounts[CONTRACT].after
    assert after is not None
    assert after.nonce == 2
    assert block.changes.accounts[RECIPIENT].after.balance == 5  # type: ignore[union-attr]


def test_other_contract_accounts_cannot_send_in_the_same_block(
    engine: Engine, state: MemoryState
) -> None:
    state.put(SENDERS[0], balance=COIN, code=bytecode.COUNTER)
    before, own, after = (
        sent(CONTRACT, nonce=1),
        signed(key=JUNK_KEYS[0]),
        sent(STRANGER),
    )
    block = engine.execute_block(block_env(), [before, own, after], state, skip_invalid=True)

    assert block.included == (0, 2)
    (skipped,) = block.skipped
    assert (skipped.index, skipped.retry) == (1, False)
    assert skipped.reason.startswith("sender not an eoa: address 0xf39F")


def test_forged_sender_with_code_is_refused(engine: Engine, state: MemoryState) -> None:
    named = sent(STRANGER, nonce=1)
    forged = Transaction(
        **{
            **{name: getattr(named, name) for name in Transaction.__dataclass_fields__},
            "sender": CONTRACT,
        }
    )
    with pytest.raises(ExecutionInvalid, match="sender not an eoa"):
        engine.execute_block(block_env(), [forged], state, skip_invalid=False)


def test_other_faults_of_impersonated_transactions_are_refused(
    engine: Engine, state: MemoryState
) -> None:
    wrong = [
        sent(CONTRACT, nonce=0),
        sent(CONTRACT, nonce=1, value=2 * COIN),
        sent(CONTRACT, nonce=1, gas=20_999),
    ]
    block = engine.execute_block(block_env(), wrong, state, skip_invalid=True)

    assert [item.reason.partition(":")[0] for item in block.skipped] == [
        "nonce too low",
        "insufficient funds for gas * price + value",
        "intrinsic gas too low",
    ]


def test_impersonated_transaction_is_traced(engine: Engine, state: MemoryState) -> None:
    traced = engine.trace_block(  # type: ignore[attr-defined]
        block_env(), [sent(CONTRACT, nonce=1, value=5)], state, Recording(frames=True)
    )

    (trace,) = traced.transactions
    assert trace.succeeded
    assert trace.frames[0].sender == CONTRACT


@pytest.mark.parametrize("fork", FORKS)
def test_both_engines_make_the_same_block(fork: str, state: MemoryState) -> None:
    kinds = {"berlin": [LEGACY, ACCESS_LIST]}.get(fork, [LEGACY, ACCESS_LIST, DYNAMIC_FEE])
    batch = [
        impersonate(unsigned(type=kind, nonce=first + place, value=7), sender)
        for sender, first in ((CONTRACT, 1), (STRANGER, 0))
        for place, kind in enumerate(kinds)
    ]
    code = bytecode.deploy_code(bytecode.COUNTER)
    batch.append(
        impersonate(
            unsigned(type=LEGACY, nonce=1 + len(kinds), to=None, data=code, gas=500_000, value=0),
            CONTRACT,
        )
    )
    if fork in {"prague", "osaka"}:
        authorizations = (authorization(1, RECIPIENT, 0),)
        batch.append(
            impersonate(
                unsigned(type=SET_CODE, nonce=3, authorizations=authorizations, gas=100_000),
                STRANGER,
            )
        )
    native, reference = (
        select_engine(name).execute_block(block_env(fork), batch, state, skip_invalid=False)
        for name in ("native", "reference")
    )

    assert_same_block(native, reference)
    assert all(result.succeeded for result in native.results)
    assert native.results[2 * len(kinds)].contract_address == bytecode.created(
        CONTRACT, 1 + len(kinds)
    )
