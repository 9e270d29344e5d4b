"""Random blocks and calls to compare engines: contracts of every kind, and Hypothesis strategies.

A scenario is drawn as plain choices first and converted to transactions later. Thus nonces are right
(unless a choice makes them wrong) and Hypothesis can shrink the scenario.
"""

from collections import Counter
from typing import Any, NamedTuple

from hypothesis import strategies as st

from cchain_app.config import at_least
from cchain_app.txs.transaction import ACCESS_LIST, DYNAMIC_FEE, LEGACY, SET_CODE, Transaction
from primitives.evm import Address, Slot
from tests.builders import bytecode
from tests.builders.cchain import (
    COIN,
    SENDERS,
    MemoryState,
    authorization,
    genesis_state,
    transaction,
)

GWEI = 10**9

CONTRACTS = {
    name: Address(bytes([0xC0, index]) * 10)
    for index, name in enumerate(
        (
            "counter", "store", "store_twice", "echo_revert", "loop", "bad_jump", "logger",
            "destroyer", "factory", "proxy", "delegator", "recursion", "environment", "token",
            "random",
        )
    )
}  # fmt: skip
_CODES = {
    "counter": bytecode.COUNTER,
    "store": bytecode.STORE,
    "store_twice": bytecode.STORE_TWICE,
    "echo_revert": bytecode.ECHO_REVERT,
    "loop": bytecode.LOOP,
    "bad_jump": bytecode.BAD_JUMP,
    "logger": bytecode.LOGGER,
    "destroyer": bytecode.DESTROYER,
    "factory": bytecode.FACTORY,
    "proxy": bytecode.PROXY,
    "delegator": bytecode.DELEGATOR,
    "recursion": bytecode.RECURSION,
    "environment": bytecode.SURROUNDINGS,
    "token": bytecode.TOKEN,
}
NOBODY = Address(b"\x99" * 20)
IDENTITY = Address(bytes(19) + b"\x04")
_PARTIES = (*SENDERS[:4], *CONTRACTS.values(), NOBODY, IDENTITY, Address(bytes(20)))


class Action(NamedTuple):
    """One drawn transaction, before it has a nonce."""

    sender: int
    to: Address | None
    data: bytes
    value: int
    gas: int
    kind: int
    nonce_offset: int
    max_fee: int
    tip: int
    access_list: tuple[tuple[Address, tuple[Slot, ...]], ...]
    delegations: tuple[tuple[int, Address, int, int], ...]
    """Signer, contract, nonce offset, chain ID."""


def world(random_code: bytes = b"") -> MemoryState:
    """Return the genesis state with every contract in it, some with balance and storage."""
    state = genesis_state()
    storage = {0: 3, 1: 1, 2: 2, 7: 2**255}
    for name, code in _CODES.items():
        state.put(CONTRACTS[name], code=code, nonce=1, balance=5, storage=storage)
    state.put(CONTRACTS["random"], code=random_code, nonce=1, balance=COIN, storage=storage)
    state.put(SENDERS[3], balance=10**15)
    state.put(SENDERS[4])
    return state


small = st.sampled_from([0, 0, 1, 2, 3, 7, 2**255, 2**256 - 1])
parties = st.sampled_from(_PARTIES)
slots = st.sampled_from([0, 1, 2, 7, 9]).map(lambda number: Slot(number.to_bytes(32, "big")))

_opcodes = st.sampled_from(
    [
        *range(0x01, 0x0C), *range(0x10, 0x1F), 0x20, *range(0x30, 0x4B), *range(0x50, 0x60),
        *range(0x80, 0x86), *range(0x90, 0x95), *range(0xA0, 0xA5), 0xF0, 0xF1, 0xF2, 0xF3, 0xF4,
        0xF5, 0xFA, 0xFD, 0xFE, 0xFF, 0x0C, 0x21, 0xEF,
    ]
)  # fmt: skip
_pushes = st.one_of(
    st.sampled_from([0, 0, 1, 2, 3, 4, 7, 31, 32, 33, 64, 2**16, 2**32, 2**64, 2**256 - 1]),
    parties.map(int.from_bytes),
    st.integers(0, 300),
).map(bytecode.push)
random_codes = st.lists(
    st.one_of(_pushes, _pushes, _opcodes.map(lambda op: bytes([op]))), max_size=45
).map(b"".join)

_inits = st.one_of(
    st.just(bytecode.TOKEN_INIT),
    st.just(bytecode.deploy_code(bytecode.DESTROYER, before=bytecode.assemble("9 3 SSTORE"))),
    st.just(bytecode.deploy_code(bytecode.COUNTER)),
    st.just(bytecode.deploy_code(b"\xef\x00")),
    st.just(bytecode.assemble("CALLER SELFDESTRUCT")),
    st.just(bytecode.assemble("24577 0 RETURN")),
    random_codes,
    random_codes.map(bytecode.deploy_code),
)
datas = st.one_of(
    st.just(b""),
    st.binary(max_size=80),
    st.builds(bytecode.words, small, small),
    st.builds(bytecode.words, small, small, small),
    st.builds(bytecode.words, parties),
    st.builds(lambda party, rest: bytecode.words(party) + rest, parties, st.binary(max_size=40)),
    st.builds(bytecode.words, parties, small, small),
    st.builds(lambda salt, init: bytecode.words(salt) + init, st.integers(0, 2), _inits),
    st.builds(
        lambda salt, init: bytecode.words(CONTRACTS["factory"], salt) + init,
        st.integers(0, 2),
        _inits,
    ),
    st.builds(bytecode.transfer_call, parties, small),
)
access_lists = st.lists(st.tuples(parties, st.lists(slots, max_size=2).map(tuple)), max_size=3).map(
    tuple
)

_actions = st.builds(
    Action,
    sender=st.sampled_from([0, 0, 0, 1, 2, 3]),
    to=parties,
    data=datas,
    value=st.sampled_from([0, 0, 0, 1, COIN, 2**200]),
    gas=st.sampled_from([20_999, 21_000, 60_000, 150_000, 400_000, 400_000, 400_000]),
    kind=st.sampled_from([LEGACY, ACCESS_LIST, DYNAMIC_FEE, DYNAMIC_FEE, SET_CODE]),
    nonce_offset=st.sampled_from([0] * 12 + [1, -1]),
    max_fee=st.sampled_from([2 * GWEI] * 8 + [GWEI, GWEI - 1, 50 * GWEI]),
    tip=st.sampled_from([0, 1, GWEI]),
    access_list=st.one_of(st.just(()), access_lists),
    delegations=st.lists(
        st.tuples(
            st.integers(0, 4),
            st.sampled_from([*CONTRACTS.values(), Address(bytes(20)), IDENTITY]),
            st.sampled_from([0, 0, 0, 1]),
            st.sampled_from([0, 43_112, 43_112, 1]),
        ),
        min_size=1,
        max_size=3,
    ).map(tuple),
)
_creations = st.builds(
    lambda action, init: action._replace(to=None, data=init),
    _actions.filter(lambda action: action.kind != SET_CODE),
    _inits,
)
blocks = st.lists(st.one_of(_actions, _actions, _creations), min_size=1, max_size=7)


def as_transactions(actions: list[Action], state: MemoryState, fork: str) -> list[Transaction]:
    """Sign the drawn actions with increasing nonces, as if all of them were included."""
    sent: Counter[int] = Counter()
    transactions = []
    for action in actions:
        account = state.account(SENDERS[action.sender])
        nonce = (0 if account is None else account.nonce) + sent[action.sender]
        changes = _fields(action, state, fork)
        nonce = max(0, nonce + action.nonce_offset)
        transactions.append(transaction(action.sender, nonce=nonce, **changes))
        sent[action.sender] += action.nonce_offset == 0
    return transactions


def _fields(action: Action, state: MemoryState, fork: str) -> dict[str, Any]:
    kind = action.kind if at_least(fork, _SINCE[action.kind]) else LEGACY
    fields: dict[str, Any] = {
        "type": kind,
        "to": action.to,
        "data": action.data,
        "value": action.value,
        "gas": action.gas,
        "max_fee_per_gas": action.max_fee,
        "max_priority_fee_per_gas": action.tip if kind in {DYNAMIC_FEE, SET_CODE} else 0,
    }
    if kind != LEGACY:
        fields["access_list"] = action.access_list
    if kind == SET_CODE:
        fields["authorizations"] = tuple(
            authorization(signer, to, _nonce(state, signer) + offset, chain_id)
            for signer, to, offset, chain_id in action.delegations
        )
    return fields


_SINCE = {LEGACY: "frontier", ACCESS_LIST: "berlin", DYNAMIC_FEE: "london", SET_CODE: "prague"}


def _nonce(state: MemoryState, signer: int) -> int:
    account = state.account(SENDERS[signer])
    return 0 if account is None else account.nonce
