"""The reference engine: its results for blocks and calls, and the absence of global side effects."""

import subprocess
import sys
from dataclasses import replace

import pytest

from cchain_app.evm.engine import (
    AccountState,
    CallInterrupted,
    CallRejected,
    ExecutionInvalid,
    GasAllowance,
    SlotChange,
)
from cchain_app.evm.reference import ReferenceEngine
from cchain_app.evm.reference_package import UnknownForkError
from cchain_app.txs.signing import encode_authorization
from cchain_app.txs.transaction import LEGACY, SET_CODE
from primitives.evm import ZERO_WORD, Address, Slot, Word
from primitives.hashing import keccak256
from tests.builders import bytecode
from tests.builders.cchain import (
    ALL_FORKS,
    BASE_FEE,
    COIN,
    SENDERS,
    MemoryState,
    authorization,
    block_env,
    call_message,
    genesis_state,
    transaction,
)

ENGINE = ReferenceEngine()
GWEI = 10**9
CONTRACT = Address(b"\xc0" * 20)
EMPTY_REQUESTS = bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")


def slot(number: int) -> Slot:
    return Slot(number.to_bytes(32, "big"))


def word(number: int) -> Word:
    return Word(number.to_bytes(32, "big"))


def with_code(code: bytes, **account: object) -> MemoryState:
    state = genesis_state()
    state.put(CONTRACT, code=code, nonce=1, **account)  # type: ignore[arg-type]
    return state


def test_a_token_transfer_logs_and_is_seen_by_the_next_transaction() -> None:
    state = genesis_state()
    token = bytecode.created(SENDERS[0], 0)
    block = ENGINE.execute_block(
        block_env(),
        [
            transaction(to=None, value=0, gas=500_000, data=bytecode.TOKEN_INIT),
            transaction(
                nonce=1, to=token, value=0, gas=100_000, data=bytecode.transfer_call(SENDERS[1], 5)
            ),
            transaction(
                1, to=token, value=0, gas=100_000, data=bytecode.transfer_call(SENDERS[2], 6)
            ),
        ],
        state,
        skip_invalid=False,
    )
    assert [result.succeeded for result in block.results] == [True, True, False]
    (log,) = block.results[1].logs
    assert log.address == token
    assert log.topics[0] == bytecode.TRANSFER_EVENT
    assert log.data == word(5)
    assert block.results[2].logs == ()
    state.apply(block.changes)
    result = ENGINE.call(block_env(), call_message(token, bytecode.balance_call(SENDERS[1])), state)
    assert result.output == word(5)


def test_transactions_that_cannot_be_in_the_block_are_skipped_with_reasons() -> None:
    state = genesis_state()
    state.put(Address(b"\x01" * 20))
    block = ENGINE.execute_block(
        block_env(gas_limit=60_000),
        [
            transaction(nonce=1),
            transaction(max_fee_per_gas=GWEI - 1, max_priority_fee_per_gas=0),
            transaction(gas=60_001),
            transaction(gas=20_999),
            transaction(),
            transaction(1, gas=50_000),
            transaction(),
            transaction(2, value=10_001 * COIN),
        ],
        state,
        skip_invalid=True,
    )
    assert block.included == (4,)
    assert [(skip.index, skip.reason, skip.retry) for skip in block.skipped] == [
        (0, "nonce too high: address 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, tx: 1 state: 0",
         True),
        (1, "max fee per gas less than block base fee: address "
            "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, maxFeePerGas: 999999999, "
            "baseFee: 1000000000", True),
        (2, "gas limit reached", False),
        (3, "intrinsic gas too low: have 20999, want 21000", False),
        (5, "gas limit reached", True),
        (6, "nonce too low: address 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, tx: 0 state: 1",
         False),
        (7, "insufficient funds for gas * price + value: address "
            "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC have 10000000000000000000000 want "
            "10001001050000000000000", False),
    ]  # fmt: skip


def test_without_skipping_a_bad_transaction_makes_the_block_invalid() -> None:
    bad = transaction(nonce=1)
    with pytest.raises(
        ExecutionInvalid,
        match=rf"^could not apply tx 0 \[0x{bad.hash.hex()}\]: nonce too high: address 0xf39F",
    ):
        ENGINE.execute_block(block_env(), [bad], genesis_state(), skip_invalid=False)


def test_a_sender_with_code_is_refused_and_one_that_delegates_is_not() -> None:
    state = genesis_state()
    state.put(SENDERS[0], balance=COIN, code=bytecode.COUNTER)
    state.put(SENDERS[1], balance=COIN, code=bytes.fromhex("ef0100") + CONTRACT)
    block = ENGINE.execute_block(
        block_env(), [transaction(), transaction(1)], state, skip_invalid=True
    )
    assert block.included == (1,)
    assert block.skipped[0].reason.startswith("sender not an eoa: address 0xf39Fd6e5")


def test_self_destruction_before_cancun_clears_storage() -> None:
    state = with_code(bytecode.DESTROYER, balance=7, storage={1: 2})
    destroy = transaction(to=CONTRACT, value=0, gas=100_000, data=bytecode.words(SENDERS[1]))
    block = ENGINE.execute_block(block_env("shanghai"), [destroy], state, skip_invalid=False)
    assert block.changes.cleared == {CONTRACT}
    assert block.changes.accounts[CONTRACT].after is None
    later = ENGINE.execute_block(block_env("cancun"), [destroy], state, skip_invalid=False)
    assert later.changes.cleared == frozenset()
    assert later.changes.accounts[CONTRACT].after == AccountState(
        1, 0, keccak256(bytecode.DESTROYER)
    )


def test_a_contract_can_be_destroyed_and_made_again_in_one_block() -> None:
    init = bytecode.deploy_code(bytecode.DESTROYER, before=bytecode.assemble("9 3 SSTORE"))
    factory = with_code(bytecode.FACTORY)
    made = bytecode.created2(CONTRACT, 0, init)
    factory.put(made, code=bytecode.DESTROYER, nonce=1, storage={3: 8, 4: 4})
    block = ENGINE.execute_block(
        block_env("shanghai"),
        [
            transaction(to=made, value=0, gas=100_000, data=bytecode.words(SENDERS[1])),
            transaction(nonce=1, to=CONTRACT, value=0, gas=500_000, data=bytecode.words(0) + init),
        ],
        factory,
        skip_invalid=False,
    )
    assert [result.succeeded for result in block.results] == [True, True]
    assert block.changes.cleared == {made}
    of_made = {key[1]: change for key, change in block.changes.storage.items() if key[0] == made}
    assert of_made == {slot(3): SlotChange(word(8), word(9))}


def test_a_delegation_is_code_of_the_account() -> None:
    state = with_code(bytecode.COUNTER)
    block = ENGINE.execute_block(
        block_env(),
        [
            transaction(
                type=SET_CODE,
                to=SENDERS[1],
                value=0,
                gas=200_000,
                authorizations=(authorization(1, CONTRACT, 0),),
            )
        ],
        state,
        skip_invalid=False,
    )
    delegation = bytes.fromhex("ef0100") + CONTRACT
    after = block.changes.accounts[SENDERS[1]].after
    assert after is not None
    assert (after.nonce, after.code_hash) == (1, keccak256(delegation))
    assert block.changes.storage[SENDERS[1], slot(0)].after == word(1)


@pytest.mark.parametrize("fork", ALL_FORKS)
def test_every_fork_executes_a_block_and_a_call(fork: str) -> None:
    state = with_code(bytecode.COUNTER)
    send = transaction(
        type=LEGACY, chain_id=None, to=CONTRACT, value=0, gas=100_000, max_fee_per_gas=2 * GWEI
    )
    block = ENGINE.execute_block(block_env(fork), [send], state, skip_invalid=False)
    assert block.results[0].succeeded
    assert block.changes.storage[CONTRACT, slot(0)].after == word(1)
    state.apply(block.changes)
    result = ENGINE.call(block_env(fork), call_message(CONTRACT), state)
    assert (result.error, result.output) == (None, word(2))


def test_an_unknown_fork_is_an_error() -> None:
    env = replace(block_env(), fork="atlantis")
    with pytest.raises(UnknownForkError, match=r"^unknown fork atlantis$"):
        ENGINE.call(env, call_message(CONTRACT), genesis_state())


@pytest.mark.parametrize(
    ("code", "gas", "error"),
    [
        (bytecode.LOOP, 50_000, "out of gas"),
        (bytecode.BAD_JUMP, 50_000, "invalid jump destination"),
        (bytecode.UNDERFLOW, 50_000, "stack underflow (1 <=> 2)"),
        (bytecode.OVERFLOW, 50_000, "stack limit reached 1024 (1023)"),
        (bytecode.UNDEFINED, 50_000, "invalid opcode: opcode 0xc not defined"),
        (bytes([0xFE]), 50_000, "invalid opcode: INVALID"),
        (bytecode.COUNTER, 24_000, "out of gas: not enough gas for reentrancy sentry"),
        (bytecode.assemble("1 0 0 RETURNDATACOPY"), 50_000, "return data out of bounds"),
        (bytecode.ECHO_REVERT, 50_000, "execution reverted"),
    ],
)
def test_failures_are_worded_as_geth_words_them(code: bytes, gas: int, error: str) -> None:
    result = ENGINE.call(block_env(), call_message(CONTRACT, b"why", gas=gas), with_code(code))
    assert result.error == error
    assert result.output == (b"why" if result.reverted else b"")
    assert result.gas_used <= gas
    assert result.logs == ()


@pytest.mark.parametrize(
    ("init", "gas", "error"),
    [
        (bytecode.deploy_code(b"\xef"), 100_000, "invalid code: must not begin with 0xef"),
        (bytecode.deploy_code(bytes(200)), 80_000, "contract creation code storage out of gas"),
        (
            bytecode.assemble("24577 0 RETURN"),
            9_000_000,
            "max code size exceeded: code size 24577 limit 24576",
        ),
    ],
)
def test_failures_of_a_creation_are_worded_as_geth_words_them(
    init: bytes, gas: int, error: str
) -> None:
    result = ENGINE.call(block_env(), call_message(None, init, gas=gas), genesis_state())
    assert result.error == error


def test_a_creation_returns_the_runtime_code() -> None:
    result = ENGINE.call(
        block_env(), call_message(None, bytecode.deploy_code(b"\x01\x02")), genesis_state()
    )
    assert (result.error, result.output) == (None, b"\x01\x02")


def test_a_creation_where_there_is_code_collides() -> None:
    state = genesis_state()
    state.put(bytecode.created(SENDERS[0], 0), code=b"\x00", nonce=1)
    result = ENGINE.call(block_env(), call_message(None, b"\x00"), state)
    assert result.error == "contract address collision"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gas": 20_999}, "intrinsic gas too low: have 20999, want 21000"),
        ({"data": b"\1" * 1000, "gas": 40_000},
         "insufficient gas for floor data gas cost: have 40000, want 61000"),
        ({"value": 10_001 * COIN},
         "insufficient funds for gas * price + value: address "
         "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 have 10000000000000000000000 want "
         "10001000000000000000000"),
        ({"gas_price": 1},
         "max fee per gas less than block base fee: address "
         "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, maxFeePerGas: 1, baseFee: 1000000000"),
        ({"gas_price": 2 * GWEI, "max_priority_fee": 3 * GWEI},
         "max priority fee per gas higher than max fee per gas: address "
         "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, maxPriorityFeePerGas: 3000000000, "
         "maxFeePerGas: 2000000000"),
        ({"to": None, "data": bytes(49_153)},
         "max initcode size exceeded: code size 49153 limit 49152"),
    ],
)  # fmt: skip
def test_a_call_that_cannot_begin_is_rejected(changes: dict[str, object], message: str) -> None:
    call = call_message(**{"to": SENDERS[1], **changes})
    with pytest.raises(CallRejected) as caught:
        ENGINE.call(block_env(), call, genesis_state())
    assert str(caught.value) == message


def test_without_a_price_the_base_fee_reads_zero_and_nothing_is_paid() -> None:
    state = with_code(bytecode.assemble("BASEFEE 0 MSTORE GASPRICE 32 MSTORE 64 0 RETURN"))
    free = call_message(CONTRACT, sender=Address(b"\x99" * 20))
    assert ENGINE.call(block_env(), free, state).output == bytecode.words(0, 0)
    priced = call_message(CONTRACT, gas_price=2 * GWEI)
    assert ENGINE.call(block_env(), priced, state).output == bytecode.words(BASE_FEE, 2 * GWEI)


def test_refunds_lower_the_gas_used_and_not_the_peak() -> None:
    state = with_code(bytecode.assemble("0 1 SSTORE 0 2 SSTORE"), storage={1: 5})
    result = ENGINE.call(block_env(), call_message(CONTRACT), state)
    assert result.error is None
    assert result.gas_peak - result.gas_used == 4_800


def test_a_call_changes_nothing() -> None:
    state = with_code(bytecode.COUNTER)
    before = dict(state.accounts), {key: dict(slots) for key, slots in state.storages.items()}
    ENGINE.call(block_env(), call_message(CONTRACT), state)
    assert (state.accounts, state.storages) == before


def test_gas_is_limited() -> None:
    state, allowance = with_code(bytecode.LOOP), GasAllowance(100)
    with pytest.raises(CallInterrupted, match=r"^gas allowance used up$"):
        ENGINE.call(block_env(), call_message(CONTRACT), state, allowance=allowance)
    assert allowance.left == 0
    done = ENGINE.call(
        block_env(),
        call_message(CONTRACT),
        with_code(bytecode.COUNTER),
        allowance=GasAllowance(100_000),
    )
    assert done.error is None


def test_a_precompile_that_may_outlast_the_limit_is_not_begun() -> None:
    """Blake2f with 4 billion rounds would take hours and cannot be interrupted."""
    rounds = b"\xff\xff\xff\xff" + bytes(208) + b"\x01"
    message = call_message(Address(bytes(19) + b"\x09"), rounds, gas=2**40)
    with pytest.raises(CallInterrupted, match=r"^time limit reached$"):
        ENGINE.call(block_env(), message, genesis_state(), time_limit=1.0)


def test_time_is_limited() -> None:
    state = with_code(bytecode.LOOP)
    with pytest.raises(CallInterrupted, match=r"^time limit reached$"):
        ENGINE.call(block_env(), call_message(CONTRACT, gas=50_000_000), state, time_limit=0.01)


def test_the_access_list_names_what_was_touched_and_not_what_is_warm_anyway() -> None:
    other = Address(b"\xd0" * 20)
    state = with_code(bytecode.PROXY)
    state.put(other, code=bytecode.ECHO_REVERT, nonce=1)
    data = bytecode.words(other) + b"x"
    result = ENGINE.call(block_env(), call_message(CONTRACT, data), state, with_access_list=True)
    assert result.access_list == ((CONTRACT, (slot(1),)), (other, ()))
    without = ENGINE.call(block_env(), call_message(CONTRACT, data), state)
    assert without.access_list is None


def test_authorizations_make_a_call_of_type_four() -> None:
    state = with_code(bytecode.COUNTER)
    entry = encode_authorization(authorization(1, CONTRACT, 0))
    result = ENGINE.call(block_env(), call_message(SENDERS[1], authorizations=(entry,)), state)
    assert (result.error, result.output) == (None, word(1))
    with pytest.raises(CallRejected, match=r"^EIP-7702 transaction cannot be used to create"):
        ENGINE.call(block_env(), call_message(None, authorizations=(entry,)), state)


def test_calls_nest_to_the_limit_of_the_evm() -> None:
    state = with_code(bytecode.RECURSION)
    before = sys.getrecursionlimit()
    result = ENGINE.call(block_env(), call_message(CONTRACT, gas=10**15), state)
    assert result.error is None
    assert sys.getrecursionlimit() == before


def test_only_256_block_hashes_are_seen() -> None:
    state = with_code(bytecode.SURROUNDINGS)
    state.hashes = {number: keccak256(bytes([number % 256])) for number in range(300)}
    out = ENGINE.call(block_env(number=300), call_message(CONTRACT), state).output
    assert out[320:352] == state.hashes[299]
    assert out[352:384] == ZERO_WORD


_SCRIPT = """
import sys
limit = sys.getrecursionlimit()
from cchain_app.evm.reference import ReferenceEngine
assert not any(name.startswith("ethereum.forks") for name in sys.modules)
assert sys.getrecursionlimit() == limit
from cchain_app.evm.reference_package import load_fork
load_fork("osaka")
assert "py_ecc" in sys.modules
assert sys.getrecursionlimit() == limit, sys.getrecursionlimit()
"""


def test_importing_the_engine_leaves_the_recursion_limit_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
