"""Coins that move from the P-Chain to the C-Chain and back: blocks, state, shared memory, pool."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cchain_app import models, notifications
from cchain_app.atomic.errors import AtomicReason
from cchain_app.atomic.fees import burned
from cchain_app.atomic.transactions import (
    AtomicTx,
    UnsignedExportTx,
    build,
    sign_bytes,
    split_payload,
)
from cchain_app.development.errors import DevelopmentError, DevelopmentReason
from cchain_app.selectors import atomic as atomic_txs
from cchain_app.selectors import blocks, tracing
from cchain_app.selectors.atomic import AtomicStatus
from cchain_app.services import atomic, rewinding
from cchain_app.services.atomic import AtomicPoolReason, AtomicTxRefused
from cchain_app.store import atomic as rows
from chaindb import clock
from chaindb.events import Message
from chainvm.port import BlockContext
from platform_app.apps import platform_chain
from platform_app.config import UNIT
from platform_app.selectors import outputs
from platform_app.services import mempool
from platform_app.txs.subnets import ImportTx
from primitives.hashing import keccak256, sha256
from primitives.ids import P_CHAIN_ID
from primitives.keys import DEV_KEYS, EWOQ_KEY
from primitives.secp256k1 import sign_sha256
from shared_app.models import SharedOutput, SharedOwner
from tests.builders import platform
from tests.builders.reasons import raises
from tests.builders.transactions import signed
from tests.integration.cchain_app.atomic.conftest import (
    EWOQ_ACCOUNT,
    EWOQ_ADDRESS,
    GWEI,
    TO,
    Both,
)
from tests.integration.conftest import forget_memory
from utxo.components import SignatureCredential
from utxo.errors import InvalidTx

WEI = 10**12
"""Wei of one unit on this network."""


def status(both: Both, tx: AtomicTx) -> AtomicStatus:
    return atomic_txs.status_of(atomic_txs.find(both.c.evm, tx.tx_id))


def test_transfer_to_the_c_chain_and_back_keeps_the_amount(both: Both) -> None:
    both.exported_to_c(5 * UNIT)
    (waiting,) = both.to_c()
    tx = both.make_import()
    atomic.issue(both.c.evm, tx)
    assert status(both, tx) is AtomicStatus.PROCESSING
    block = both.c.mine()

    assert status(both, tx) is AtomicStatus.ACCEPTED
    assert block.payload is not None
    assert block.header.extra_data == keccak256(block.payload)
    credited = 5 * UNIT - burned(tx, both.parameters.asset_id)
    assert both.balance(TO) == credited * WEI
    assert [(one.address, one.amount * 10**9) for one in block.withdrawals] == [
        (TO, credited * WEI)
    ]
    assert both.to_c() == []
    assert not SharedOwner.objects.exists()

    before = both.account(EWOQ_ACCOUNT)
    assert before is not None
    sent = both.make_export(3 * UNIT)
    both.do(sent)
    after = both.account(EWOQ_ACCOUNT)
    assert after is not None
    paid = (3 * UNIT + burned(sent, both.parameters.asset_id)) * WEI
    assert (after.balance, after.nonce) == (before.balance - paid, before.nonce + 1)

    (back,) = both.waiting(P_CHAIN_ID, both.p.network.c_chain_id)
    imported = platform.signed(
        platform.unsigned(
            ImportTx,
            outputs=(both.p.output(2 * UNIT, EWOQ_ADDRESS),),
            inputs=(),
            source_chain=both.p.network.c_chain_id,
            imported_inputs=platform.spend_all(back),
        ),
        [[EWOQ_KEY]],
    )
    both.p.do(imported)
    own = outputs.utxos_of(platform_chain(), [EWOQ_ADDRESS]).utxos
    assert any(raw[2:34] == imported.tx_id for raw in own)
    assert not SharedOutput.objects.exists()
    assert waiting.tx_id != back.tx_id


def test_an_issued_transaction_is_announced_once(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The network process pushes it to peers then, without waiting for its next look at the pool."""
    heard: list[Message] = []
    monkeypatch.setattr(both.c.evm.events, "send", lambda _, message: heard.append(message))
    both.exported_to_c(UNIT)
    tx = both.make_import()
    atomic.issue(both.c.evm, tx)
    atomic.issue(both.c.evm, tx)
    announced = [message for message in heard if message["type"] == notifications.ATOMIC_PENDING]
    assert announced == [notifications.pending_atomic_transactions([tx.tx_id])]


def test_an_output_is_imported_once(both: Both) -> None:
    both.exported_to_c(UNIT)
    (utxo,) = both.to_c()
    both.do(both.make_import(utxo))
    again = both.make_import(utxo, base_fee=200 * GWEI)
    with raises(AtomicReason.SHARED_UTXO_MISSING, kind=InvalidTx):
        atomic.issue(both.c.evm, again)
    assert status(both, again) is AtomicStatus.UNKNOWN


def test_repeated_issue_is_acknowledged(both: Both) -> None:
    both.exported_to_c(UNIT)
    tx = both.make_import()
    for _ in range(2):
        atomic.issue(both.c.evm, tx)
    assert models.AtomicPoolTransaction.objects.count() == 1
    both.c.mine()
    atomic.issue(both.c.evm, tx)
    assert not models.AtomicPoolTransaction.objects.exists()


def test_a_conflicting_transaction_must_pay_more(both: Both) -> None:
    both.exported_to_c(UNIT)
    cheap, dear = both.make_import(), both.make_import(base_fee=500 * GWEI)
    atomic.issue(both.c.evm, cheap)
    atomic.issue(both.c.evm, dear)
    assert status(both, cheap) is AtomicStatus.DROPPED
    with raises(AtomicPoolReason.CONFLICT, kind=AtomicTxRefused):
        atomic.issue(both.c.evm, cheap)
    block = both.c.mine()
    assert block.payload is not None
    assert [tx.tx_id for tx in split_payload(block.payload)] == [dear.tx_id]


def test_the_pool_survives_a_restart(both: Both) -> None:
    both.exported_to_c(UNIT)
    tx = both.make_import()
    atomic.issue(both.c.evm, tx)
    forget_memory()
    both.c.mine()
    assert status(both, tx) is AtomicStatus.ACCEPTED


def test_an_export_with_a_used_nonce_is_refused(both: Both) -> None:
    first, second = both.make_export(UNIT), both.make_export(2 * UNIT, base_fee=300 * GWEI)
    atomic.issue(both.c.evm, first)
    both.c.do(value=1)  # an EVM transaction with the same nonce in the same block
    assert status(both, first) is AtomicStatus.ACCEPTED
    with raises(AtomicReason.INVALID_NONCE, kind=InvalidTx):
        atomic.issue(both.c.evm, second)


def test_export_displaces_a_pooled_transaction_with_its_nonce(
    both: Both,
) -> None:
    tx = both.c.make(value=1)
    both.c.send(tx)
    block = both.do(both.make_export(UNIT))
    assert block.transactions == ()
    assert not models.PoolTransaction.objects.exists()


def test_the_transaction_after_an_export_is_in_the_same_block(both: Both) -> None:
    atomic.issue(both.c.evm, both.make_export(UNIT))
    both.c.nonce = 1
    txs = [both.c.make(value=7), both.c.make(value=8)]
    both.c.send(*txs)
    block = both.c.mine()
    assert block.payload is not None
    assert [one.hash for one in block.transactions] == [tx.hash for tx in txs]
    account = both.account(EWOQ_ACCOUNT)
    assert account is not None
    assert account.nonce == 3


def test_a_transaction_that_an_export_leaves_without_funds_waits(both: Both) -> None:
    account = both.account(EWOQ_ACCOUNT)
    assert account is not None
    both.c.nonce = 1
    tx = both.c.make(value=account.balance // 2)
    both.c.send(tx)
    block = both.do(both.make_export(2 * account.balance // 3 // WEI))
    assert block.transactions == ()
    assert models.PoolTransaction.objects.count() == 1


def test_transactions_follow_the_exports_of_undecided_blocks(both: Both) -> None:
    vm, evm = both.c.runtime.vm, both.c.evm
    first, second = both.make_export(UNIT), both.make_export(UNIT, nonce=2)
    atomic.issue(evm, first)
    both.c.nonce = 1
    both.c.send(both.c.make(value=7))
    vm.set_preference(vm.last_accepted())
    undecided = vm.build(BlockContext(both.c.now + 1))
    assert undecided is not None
    vm.set_preference(undecided.block_id)
    assert vm.build(BlockContext(both.c.now + 2)) is None
    # A peer's transactions come while the block is undecided: the export is valid on it, not on the head.
    rows.add(evm.db, second, 1, both.c.now)
    both.c.nonce = 3
    tx = both.c.make(value=8)
    both.c.send(tx)

    follows = vm.build(BlockContext(both.c.now + 2))

    assert follows is not None
    vm.accept([undecided.block_id, follows.block_id], written=lambda _: None)
    assert status(both, second) is AtomicStatus.ACCEPTED
    assert [one.hash for one in blocks.head(evm).transactions] == [tx.hash]
    account = both.account(EWOQ_ACCOUNT)
    assert account is not None
    assert account.nonce == 4


def test_no_more_than_an_account_has_can_be_exported(both: Both) -> None:
    account = both.account(EWOQ_ACCOUNT)
    assert account is not None
    most = account.balance // WEI
    with raises(AtomicReason.INSUFFICIENT_FUNDS, kind=InvalidTx):
        atomic.issue(both.c.evm, _with_amount(both.make_export(UNIT), most + 1))
    whole = both.make_export(most - 2000, base_fee=100 * GWEI)
    both.do(whole)
    assert both.balance(EWOQ_ACCOUNT) < UNIT * WEI


def _with_amount(tx: AtomicTx, amount: int) -> AtomicTx:
    """Return an export with another amount taken from its account, signed by ewoq."""
    assert isinstance(tx.unsigned, UnsignedExportTx)
    (spent,) = tx.unsigned.inputs
    unsigned = replace(tx.unsigned, inputs=(replace(spent, amount=amount),))
    signature = sign_sha256(sha256(sign_bytes(unsigned)), EWOQ_KEY)
    return build(unsigned, [SignatureCredential((signature,))])


def test_block_with_atomic_transactions_is_shown(both: Both, ethereum: Callable[..., Any]) -> None:
    both.exported_to_c(UNIT)
    sent = both.make_export(UNIT)
    atomic.issue(both.c.evm, sent)
    atomic.issue(both.c.evm, both.make_import())
    key = next(key for address, key in DEV_KEYS.items() if address != EWOQ_ACCOUNT)
    both.c.send(signed(key=bytes.fromhex(key.removeprefix("0x")), value=7))
    block = both.c.mine()
    number = hex(block.number)

    shown = ethereum("eth_getBlockByNumber", number, False)
    assert shown["extraData"] == "0x" + block.header.extra_data.hex()
    assert [one["address"] for one in shown["withdrawals"]] == ["0x" + TO.hex()]
    raw = bytes.fromhex(ethereum("debug_getRawBlock", number)[2:])
    assert raw == block.ethereum_raw
    assert int(shown["size"], 16) == len(raw)
    assert len(ethereum("debug_traceBlockByNumber", number, {})) == 1
    assert ethereum("eth_getTransactionCount", "0x" + EWOQ_ACCOUNT.hex(), "latest") == "0x1"

    forget_memory()
    stored = blocks.by_number(both.c.evm, block.number)
    assert stored == block
    (kept,) = blocks.raw_blocks(both.c.evm, block.number, block.number, 10**6)
    assert kept.raw == block.raw
    changes = tracing.changes_in(both.c.evm, block, 1, time_limit=5.0)
    assert EWOQ_ACCOUNT in changes[0].accounts


def test_sql_views_show_atomic_transactions(both: Both) -> None:
    both.exported_to_c(UNIT)
    tx = both.make_import()
    block = both.do(tx)
    db = both.c.evm.db

    (atomic_tx,) = db.rows("SELECT tx_id, block_number, type, amount, gas FROM c_atomic_txs")
    (paid,) = db.rows("SELECT block_number, address, amount_gwei, tx_id FROM c_withdrawals")

    left = UNIT - burned(tx, both.parameters.asset_id)
    tx_id = "0x" + tx.tx_id.hex()
    assert atomic_tx[:3] == (tx_id, block.number, "ImportTx")
    assert (int(atomic_tx[3]), atomic_tx[4]) == (left, 11_230)
    assert (paid[0], paid[1], int(paid[2]), paid[3]) == (
        block.number,
        "0x" + TO.hex(),
        left * 1000,
        tx_id,
    )


def test_a_block_that_moved_coins_is_not_rewound(both: Both) -> None:
    both.c.mine()
    both.do(both.make_export(UNIT))
    head = both.c.evm.memory.blocks.head
    assert head is not None
    with raises(DevelopmentReason.MOVED_COINS, kind=DevelopmentError), both.c.evm.db.atomic():
        rewinding.rewind(both.c.evm, head, head.number - 1, lambda found: found)


def test_withdrawals_are_numbered_through_the_chain(both: Both) -> None:
    for expected in range(3):
        both.exported_to_c(UNIT)
        block = both.do(both.make_import())
        assert [one.index for one in block.withdrawals] == [expected]
    assert models.Withdrawal.objects.count() == 3


def test_p_chain_refuses_import_of_output_for_another_chain(both: Both) -> None:
    both.exported_to_c(UNIT)
    (utxo,) = both.to_c()
    tx = platform.signed(
        platform.unsigned(
            ImportTx,
            outputs=(),
            inputs=(),
            source_chain=both.p.network.c_chain_id,
            imported_inputs=platform.spend_all(utxo),
        ),
        [[EWOQ_KEY]],
    )
    with pytest.raises(InvalidTx, match="failed to get shared memory: not found"):
        mempool.issue_tx(platform_chain(), tx, now=clock.now())
