"""Blocks executed by each engine: state changes, and skipped transactions."""

from typing import Any

import pytest

from cchain_app.config import FORKS
from cchain_app.evm.engine import (
    AccountState,
    BlockEnv,
    ExecutedBlock,
    ExecutionInvalid,
    SkippedTransaction,
    SlotChange,
    TransactionResult,
)
from cchain_app.evm.tracing import TracingEngine
from cchain_app.txs.transaction import ACCESS_LIST, LEGACY, SET_CODE
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address
from tests.builders import bytecode
from tests.builders.cchain import (
    COIN,
    SENDERS,
    MemoryState,
    authorization,
    block_env,
    genesis_state,
    transaction,
)

GWEI = 10**9
CONTRACT = Address(b"\xc0" * 20)
EMPTY_REQUESTS = bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")


def slot(number: int) -> Slot:
    return Slot(number.to_bytes(32, "big"))


def word(number: int) -> Word:
    return Word(number.to_bytes(32, "big"))


def with_code(code: bytes, **account: Any) -> MemoryState:
    state = genesis_state()
    state.put(CONTRACT, code=code, nonce=1, **account)
    return state


def run(
    engine: TracingEngine,
    state: MemoryState,
    *transactions: Any,
    env: BlockEnv | None = None,
    skip: bool = False,
) -> ExecutedBlock:
    return engine.execute_block(env or block_env(), transactions, state, skip_invalid=skip)


def storage_of(block: ExecutedBlock, address: Address) -> dict[Slot, SlotChange]:
    return {slot: change for (of, slot), change in block.changes.storage.items() if of == address}


def call_contract(**changes: Any) -> Any:
    return transaction(**{"to": CONTRACT, "value": 0, "gas": 500_000, **changes})


def gas_of(
    engine: TracingEngine, *transactions: Any, state: MemoryState, env: BlockEnv | None = None
) -> list[int]:
    return [result.gas_used for result in run(engine, state, *transactions, env=env).results]


def test_each_transaction_executes_on_the_state_of_the_previous_one(engine: TracingEngine) -> None:
    state = with_code(bytecode.COUNTER)
    block = run(engine, state, call_contract(), call_contract(nonce=1), call_contract(nonce=2))
    assert storage_of(block, CONTRACT) == {slot(0): SlotChange(ZERO_WORD, word(3))}


def test_a_failed_deployment_names_the_address_and_leaves_only_the_nonce(
    engine: TracingEngine,
) -> None:
    refused = transaction(to=None, value=7, gas=100_000, data=bytecode.ECHO_REVERT)
    block = run(engine, genesis_state(), refused)
    result = block.results[0]
    assert (result.succeeded, result.logs) == (False, ())
    assert result.contract_address == bytecode.created(SENDERS[0], 0)
    assert result.contract_address not in block.changes.accounts
    assert block.changes.accounts[SENDERS[0]].after.nonce == 1


def test_create2_contract_has_the_computed_address(engine: TracingEngine) -> None:
    state = with_code(bytecode.FACTORY)
    init_code = bytecode.deploy_code(bytecode.COUNTER)
    block = run(engine, state, call_contract(data=bytecode.words(9) + init_code))
    child = bytecode.created2(CONTRACT, 9, init_code)
    assert block.changes.accounts[child].after == AccountState(1, 0, keccak256(bytecode.COUNTER))
    assert block.changes.accounts[CONTRACT].after.nonce == 2


def test_a_revert_costs_gas_and_undoes_the_rest(engine: TracingEngine) -> None:
    state = with_code(bytecode.ECHO_REVERT)
    block = run(engine, state, call_contract(value=5, data=b"\x01\x02"))
    assert not block.results[0].succeeded
    assert 21_000 < block.results[0].gas_used < 22_000
    assert CONTRACT not in block.changes.accounts


def test_running_out_of_gas_costs_all_of_it(engine: TracingEngine) -> None:
    block = run(engine, with_code(bytecode.LOOP), call_contract(gas=60_000))
    assert block.results == (TransactionResult(False, 60_000, (), None),)


def test_clearing_a_slot_is_refunded(engine: TracingEngine) -> None:
    state, env = with_code(bytecode.STORE, storage={1: 1}), block_env("cancun")
    clear = call_contract(data=bytecode.words(1, 0))
    change = call_contract(data=bytecode.words(1, 2))
    (cleared,), (changed,) = (
        gas_of(engine, clear, state=state, env=env),
        gas_of(engine, change, state=state, env=env),
    )
    assert cleared == changed - 12 - 4_800  # a zero byte of call data is cheaper by 12
    block = run(engine, state, clear, env=env)
    assert storage_of(block, CONTRACT) == {slot(1): SlotChange(word(1), ZERO_WORD)}


def test_refunds_do_not_undercut_the_calldata_floor(engine: TracingEngine) -> None:
    clear = call_contract(data=bytecode.words(1, 0))
    assert gas_of(engine, clear, state=with_code(bytecode.STORE, storage={1: 1})) == [
        21_000 + 10 * 67
    ]


def test_refunds_are_at_most_a_fifth_of_used_gas(engine: TracingEngine) -> None:
    code = bytecode.assemble("0 1 SSTORE 0 2 SSTORE 0 3 SSTORE")
    (used,) = gas_of(engine, call_contract(), state=with_code(code, storage={1: 1, 2: 1, 3: 1}))
    spent = 21_000 + 3 * (3 + 3 + 5_000)
    assert used == spent - spent // 5


def test_slot_reset_to_its_old_value_is_unchanged(engine: TracingEngine) -> None:
    state = with_code(bytecode.STORE_TWICE, storage={1: 4})
    block = run(engine, state, call_contract(data=bytecode.words(1, 5, 4)))
    assert block.results[0].succeeded
    assert storage_of(block, CONTRACT) == {}
    assert CONTRACT not in block.changes.accounts


def test_a_listed_slot_is_warm_and_no_longer_in_the_next_transaction(engine: TracingEngine) -> None:
    state = with_code(bytecode.assemble("7 SLOAD"))
    listed = {"type": ACCESS_LIST, "max_fee_per_gas": 2 * GWEI, "max_priority_fee_per_gas": 0}
    cold, warm, cold_again = gas_of(
        engine,
        call_contract(),
        call_contract(nonce=1, access_list=((CONTRACT, (slot(7),)),), **listed),
        call_contract(nonce=2),
        state=state,
    )
    assert cold == cold_again == 21_000 + 3 + 2_100
    assert warm == 21_000 + 3 + 100 + 2_400 + 1_900


def test_a_delegation_runs_the_contract_as_the_account(engine: TracingEngine) -> None:
    state = with_code(bytecode.COUNTER)
    delegate = transaction(
        type=SET_CODE,
        to=SENDERS[1],
        value=0,
        gas=200_000,
        authorizations=(authorization(1, CONTRACT, 0),),
    )
    block = run(engine, state, delegate)
    designation = bytes.fromhex("ef0100") + CONTRACT
    assert block.results[0].succeeded
    assert block.changes.codes == {keccak256(designation): designation}
    after = block.changes.accounts[SENDERS[1]].after
    assert (after.nonce, after.code_hash) == (1, keccak256(designation))
    assert block.changes.storage[SENDERS[1], slot(0)] == SlotChange(ZERO_WORD, word(1))


def test_a_contract_that_dies_in_the_transaction_that_made_it_leaves_nothing(
    engine: TracingEngine,
) -> None:
    init_code = bytecode.assemble("1 0 SSTORE") + b"\x73" + SENDERS[2] + b"\xff"
    block = run(engine, genesis_state(), transaction(to=None, value=9, gas=200_000, data=init_code))
    gone = bytecode.created(SENDERS[0], 0)
    assert block.results[0].succeeded
    assert gone not in block.changes.accounts
    assert storage_of(block, gone) == {}
    assert block.changes.cleared == frozenset()
    assert block.changes.accounts[SENDERS[2]].after.balance == 10_000 * COIN + 9


def test_an_older_contract_survives_selfdestruct_since_cancun(engine: TracingEngine) -> None:
    state = with_code(bytecode.DESTROYER, balance=5, storage={1: 1})
    block = run(engine, state, call_contract(data=bytecode.words(SENDERS[2])))
    assert block.changes.accounts[CONTRACT].after.balance == 0
    assert block.changes.accounts[CONTRACT].after.code_hash == keccak256(bytecode.DESTROYER)
    assert block.changes.cleared == frozenset()


def test_before_cancun_selfdestruct_deletes_account_and_storage(engine: TracingEngine) -> None:
    state = with_code(bytecode.DESTROYER, balance=5, storage={1: 1})
    block = run(
        engine, state, call_contract(data=bytecode.words(SENDERS[2])), env=block_env("shanghai")
    )
    assert block.changes.accounts[CONTRACT].after is None
    assert block.changes.cleared == frozenset({CONTRACT})
    assert block.changes.storage == {}


def test_a_contract_that_is_made_again_has_only_its_new_storage(engine: TracingEngine) -> None:
    """The change of its slot is reported even if the value is the same as before the deletion."""
    runtime = bytecode.assemble("CALLDATASIZE 7 JUMPI 0 SELFDESTRUCT JUMPDEST 5 3 SSTORE")
    init_code = bytecode.deploy_code(runtime)
    child = bytecode.created2(CONTRACT, 1, init_code)
    state = with_code(bytecode.FACTORY)
    state.put(child, code=runtime, nonce=1, storage={3: 5, 4: 5})
    block = run(
        engine,
        state,
        transaction(to=child, value=0, gas=100_000),
        call_contract(nonce=1, data=bytecode.words(1) + init_code),
        transaction(nonce=2, to=child, value=0, gas=100_000, data=b"\x01"),
        env=block_env("shanghai"),
    )
    assert [result.succeeded for result in block.results] == [True, True, True]
    assert block.changes.cleared == frozenset({child})
    assert storage_of(block, child) == {slot(3): SlotChange(word(5), word(5))}
    assert child not in block.changes.accounts


def test_a_touched_empty_account_is_deleted_since_spurious_dragon(engine: TracingEngine) -> None:
    empty = Address(b"\x0e" * 20)
    for fork, after in (("homestead", True), ("spurious_dragon", False)):
        state = genesis_state()
        touch = transaction(type=LEGACY, chain_id=None, to=empty, value=0)
        block = run(engine, state, touch, env=block_env(fork))
        assert (empty in block.changes.accounts) is after, fork


def test_every_fork_of_the_schedule_is_known(engine: TracingEngine) -> None:
    for fork in FORKS:
        pay = transaction(
            type=LEGACY, chain_id=None, to=SENDERS[1], value=1, max_priority_fee_per_gas=0
        )
        block = run(engine, genesis_state(), pay, env=block_env(fork))
        assert block.gas_used == 21_000, fork
        assert (block.requests_hash is None) is (FORKS.index(fork) < FORKS.index("prague"))


def named(sender: int) -> str:
    return checksum_address(SENDERS[sender])


def test_transactions_that_cannot_be_in_the_block_are_skipped_with_reasons(
    engine: TracingEngine,
) -> None:
    poor = genesis_state()
    poor.put(SENDERS[3], balance=21_000 * 2 * GWEI - 1)
    poor.put(SENDERS[4], code=bytecode.COUNTER, balance=COIN)
    block = run(
        engine,
        poor,
        transaction(nonce=0),
        transaction(nonce=0),
        transaction(nonce=5),
        transaction(nonce=1, max_fee_per_gas=GWEI - 1, max_priority_fee_per_gas=0),
        transaction(nonce=1, gas=20_999),
        transaction(3, value=0, max_fee_per_gas=2 * GWEI),
        transaction(nonce=1, gas=29_990_000),
        transaction(nonce=1, gas=30_000_001),
        transaction(4),
        transaction(nonce=1, gas=21_100, data=b"\x01" * 3),
        transaction(nonce=1),
        skip=True,
    )
    assert block.included == (0, 10)
    assert block.skipped == (
        SkippedTransaction(1, f"nonce too low: address {named(0)}, tx: 0 state: 1", False),
        SkippedTransaction(2, f"nonce too high: address {named(0)}, tx: 5 state: 1", True),
        SkippedTransaction(
            3,
            f"max fee per gas less than block base fee: address {named(0)}, "
            "maxFeePerGas: 999999999, baseFee: 1000000000",
            True,
        ),
        SkippedTransaction(4, "intrinsic gas too low: have 20999, want 21000", False),
        SkippedTransaction(
            5,
            f"insufficient funds for gas * price + value: address {named(3)} "
            "have 41999999999999 want 42000000000000",
            False,
        ),
        SkippedTransaction(6, "gas limit reached", True),
        SkippedTransaction(7, "gas limit reached", False),
        SkippedTransaction(8, f"sender not an eoa: address {named(4)}", False),
        SkippedTransaction(
            9, "insufficient gas for floor data gas cost: have 21100, want 21120", False
        ),
    )


def test_osaka_caps_the_gas_of_a_transaction(engine: TracingEngine) -> None:
    block = run(
        engine, genesis_state(), transaction(gas=2**24 + 1), env=block_env("osaka"), skip=True
    )
    assert block.skipped == (
        SkippedTransaction(
            0, "transaction gas limit too high (cap: 16777216, tx: 16777217)", False
        ),
    )


def test_a_transaction_type_before_its_fork_is_skipped(engine: TracingEngine) -> None:
    block = run(engine, genesis_state(), transaction(), env=block_env("berlin"), skip=True)
    assert block.skipped == (SkippedTransaction(0, "transaction type not supported", False),)


def test_an_invalid_transaction_makes_a_given_block_invalid(engine: TracingEngine) -> None:
    wrong = transaction(nonce=1)
    with pytest.raises(ExecutionInvalid) as caught:
        run(engine, genesis_state(), wrong)
    assert str(caught.value) == (
        f"could not apply tx 0 [0x{wrong.hash.hex()}]: nonce too high: address {named(0)}, "
        "tx: 1 state: 0"
    )


def test_a_skipped_transaction_leaves_no_trace(engine: TracingEngine) -> None:
    with_it = run(engine, genesis_state(), transaction(nonce=3), transaction(), skip=True)
    without = run(engine, genesis_state(), transaction())
    assert with_it.changes == without.changes
    assert with_it.gas_used == without.gas_used


class BrokenState(MemoryState):
    """A state in which one kind of read fails."""

    broken: str = ""

    def account(self, address: Address) -> AccountState | None:
        self._may_break("account")
        return super().account(address)

    def storage(self, address: Address, slot: Slot) -> Word:
        self._may_break("storage")
        return super().storage(address, slot)

    def has_storage(self, address: Address) -> bool:
        self._may_break("has_storage")
        return super().has_storage(address)

    def code(self, code_hash: Hash) -> bytes:
        self._may_break("code")
        return super().code(code_hash)

    def block_hash(self, number: int) -> Hash:
        self._may_break("block_hash")
        return super().block_hash(number)

    def _may_break(self, question: str) -> None:
        if question == self.broken:
            raise ConnectionError(question)


@pytest.mark.parametrize("question", ["account", "storage", "code", "block_hash"])
def test_state_reader_exception_propagates_unchanged(engine: TracingEngine, question: str) -> None:
    state = BrokenState()
    salt = len(question).to_bytes(1, "big")  # code that no other test has read before
    state.put(SENDERS[0], balance=COIN)
    state.put(CONTRACT, code=bytecode.assemble("1 SLOAD 1 NUMBER SUB BLOCKHASH STOP") + salt)
    state.broken = question
    with pytest.raises(ConnectionError, match=f"^{question}$"):
        run(engine, state, call_contract())
