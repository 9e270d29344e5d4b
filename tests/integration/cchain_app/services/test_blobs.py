"""Blob transactions from the pool to the block: stored with their blobs, limited per block, priced, followed, pruned.

The specification's code recomputes every block of these tests.
"""

from dataclasses import replace
from typing import Any

import pytest

from cchain_app import models
from cchain_app.apps import evm_chain, evm_runtime
from cchain_app.blocks.errors import BlockReason, BlockRefused, TransactionRefused
from cchain_app.pool.errors import PoolReason
from cchain_app.selectors import blobs, blocks, pool
from cchain_app.services import pruning, snapshots, transactions
from cchain_app.services.removal import drop_transaction
from cchain_app.txs.blobs import SentTransaction, Sidecar, join
from cchain_app.txs.signing import sign_transaction
from cchain_app.txs.transaction import BLOB, TransactionReason
from primitives.evm import Hash
from tests.builders.blobs import (
    GWEI,
    INFINITY,
    OTHER_BLOB,
    ZERO_BLOB,
    ZERO_HASH,
    blob_transaction,
    sent_blobs,
    zero_sidecar,
)
from tests.builders.reasons import raises, reason_of
from tests.builders.transactions import KEY, signed, unsigned
from tests.integration.cchain_app.followed import follow, rewind
from tests.integration.conftest import Chain

PER_BLOB = 2**17
SECONDS_KEPT = 4096 * 32 * 12


def send(chain: Chain, count: int = 1, *, version: int = 1, **changes: Any) -> Hash:
    """Send the next transaction of the well-known key's account, with some blobs of zeros."""
    made = sent_blobs(count, version=version, nonce=chain.nonce, **changes)
    (outcome,) = transactions.submit(chain.runtime, [made.raw])
    assert outcome == made.transaction.hash
    chain.nonce += 1
    return made.transaction.hash


def refusal(raw: bytes) -> Any:
    (outcome,) = transactions.submit(evm_runtime(), [raw])
    assert isinstance(outcome, Exception)
    return reason_of(outcome)


@pytest.mark.parametrize("version", [0, 1])
def test_blob_transaction_is_stored_with_blobs_and_mined_without(
    chain: Chain, version: int
) -> None:
    sent = send(chain, 2, version=version)
    row = models.PoolTransaction.objects.get()
    assert (row.blobs, row.max_fee_per_blob_gas, row.size) == (2, GWEI, len(row.raw))
    stored = models.Blob.objects.order_by("index").values_list(
        "transaction_hash", "index", "versioned_hash", "version", "commitment"
    )
    assert list(stored) == [(sent, index, ZERO_HASH, version, INFINITY) for index in range(2)]

    block = chain.mine()

    assert [made.hash for made in block.transactions] == [sent]
    assert (block.header.blob_gas_used, block.header.excess_blob_gas) == (2 * PER_BLOB, 0)
    assert not models.PoolTransaction.objects.exists()
    assert blobs.sidecar_of(chain.evm, sent) == zero_sidecar(2, version)
    assert blobs.find(chain.evm, ZERO_HASH) == ZERO_BLOB


def test_the_view_shows_its_blobs(chain: Chain) -> None:
    sent = send(chain)
    (row,) = chain.evm.db.rows(
        "SELECT transaction_hash, blob_index, versioned_hash, version, commitment, blob FROM c_blobs"
    )
    assert tuple(row) == (
        f"0x{sent.hex()}", 0, f"0x{ZERO_HASH.hex()}", 1, f"0x{INFINITY.hex()}", f"0x{ZERO_BLOB.hex()}",
    )  # fmt: skip


def test_a_restarted_node_mines_it(chain: Chain) -> None:
    sent = send(chain, 3)
    chain.forget()

    block = chain.mine()
    assert block.header.blob_gas_used == 3 * PER_BLOB
    chain.forget()
    found = blocks.find_transaction(chain.evm, sent)
    assert found is not None
    assert found[0].transactions[0].blob_hashes == (ZERO_HASH,) * 3
    assert blobs.sidecar_of(chain.evm, sent) == zero_sidecar(3)


@pytest.mark.node_settings(engine="reference")
def test_the_reference_engine_mines_it(chain: Chain) -> None:
    send(chain, 1, version=0)
    assert chain.mine().header.blob_gas_used == PER_BLOB


@pytest.mark.parametrize(
    ("sidecar", "reason"),
    [
        (None, PoolReason.NO_SIDECAR),
        (zero_sidecar(2), PoolReason.WRONG_BLOB_COUNT),
        (Sidecar(0, (OTHER_BLOB,), (INFINITY,), (INFINITY,)), PoolReason.WRONG_PROOF),
        (Sidecar(1, (OTHER_BLOB,), (INFINITY,), (INFINITY,) * 128), PoolReason.WRONG_PROOF),
    ],
)
def test_wrong_blobs_are_refused_and_nothing_is_stored(
    chain: Chain, sidecar: Sidecar | None, reason: PoolReason
) -> None:
    assert refusal(join(SentTransaction(blob_transaction().raw, sidecar))) is reason
    assert not models.PoolTransaction.objects.exists()
    assert not models.Blob.objects.exists()


def test_proofs_of_a_refused_transaction_are_not_verified(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoKzg:
        def verify(self, sidecar: Sidecar) -> bool:
            raise AssertionError

    monkeypatch.setattr(chain.evm, "kzg", NoKzg())
    assert refusal(sent_blobs(gas=20_999).raw) is PoolReason.INTRINSIC_GAS_TOO_LOW
    assert refusal(sent_blobs(10).raw) is PoolReason.TOO_MANY_BLOBS
    foreign = sign_transaction(unsigned(type=BLOB, chain_id=1, blob_hashes=(ZERO_HASH,)), KEY)
    assert (
        refusal(join(SentTransaction(foreign, zero_sidecar()))) is TransactionReason.WRONG_CHAIN_ID
    )


def test_mixed_batch_has_an_outcome_per_transaction(chain: Chain) -> None:
    plain, good, wrong = signed(nonce=0), sent_blobs(nonce=1), sent_blobs(nonce=2)
    bad = join(SentTransaction(wrong.transaction.raw, None))

    outcomes = transactions.submit(chain.runtime, [plain.raw, bad, good.raw, good.raw])

    assert outcomes[0] == plain.hash
    assert reason_of(outcomes[1]) is PoolReason.NO_SIDECAR
    assert outcomes[2] == good.transaction.hash
    assert reason_of(outcomes[3]) is PoolReason.ALREADY_KNOWN
    assert models.Blob.objects.count() == 1
    chain.nonce = 2
    assert len(chain.mine().transactions) == 2


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param("public", marks=pytest.mark.node_settings(network_id=5)),
        pytest.param("plain", marks=pytest.mark.node_settings(development=False)),
        pytest.param("voted", marks=pytest.mark.node_settings(consensus="snowman")),
    ],
)
def test_other_chains_take_none(chain: Chain, rules: str) -> None:
    assert refusal(sent_blobs().raw) is TransactionReason.BLOBS_NOT_SUPPORTED
    assert refusal(blob_transaction().raw) is TransactionReason.BLOBS_NOT_SUPPORTED


def test_a_block_has_as_many_blobs_as_the_fork_allows(chain: Chain) -> None:
    first, second = send(chain, 5), send(chain, 5)

    assert [made.hash for made in chain.mine().transactions] == [first]
    block = chain.mine()
    assert [made.hash for made in block.transactions] == [second]
    assert (block.header.blob_gas_used, block.header.excess_blob_gas) == (5 * PER_BLOB, 0)
    assert chain.mine().header.excess_blob_gas == 0


@pytest.mark.node_settings(hardfork="prague")
def test_full_blocks_raise_the_blob_fee_and_cheap_transactions_wait(chain: Chain) -> None:
    for _ in range(9):
        send(chain, 9)
        chain.mine()
    head = blocks.head(chain.evm)
    assert head.header.excess_blob_gas == 8 * 3 * PER_BLOB
    assert blocks.blob_market_after(chain.evm, head) == (2, 9)

    cheap = send(chain, 1, max_fee_per_blob_gas=1)
    assert chain.mine().transactions == ()
    assert pool.pending_hashes(chain.evm) == [cheap]
    assert [made.hash for made in chain.mine().transactions] == [cheap]  # the price fell


@pytest.mark.node_settings(engine="reference")
def test_reference_engine_keeps_cheap_blob_transactions_pending(chain: Chain) -> None:
    """Both engines skip a transaction that pays too little for its blobs, and keep it for a later block."""
    made = blob_transaction(max_fee_per_blob_gas=1)
    head = blocks.head(chain.evm)
    env = replace(chain.evm.rules.env_after(head, chain.now), excess_blob_gas=10 * 2**22)
    from cchain_app.evm.native import NativeEngine
    from cchain_app.selectors.state import state_at

    results = [
        engine.execute_block(env, [made], state_at(chain.evm, 0), skip_invalid=True).skipped
        for engine in (chain.evm.engine, NativeEngine())
    ]
    (ours, theirs) = results
    assert ours == theirs
    assert (ours[0].retry, ours[0].reason.split(":")[0]) == (
        True, "max fee per blob gas less than block blob gas fee",
    )  # fmt: skip


def test_both_engines_limit_the_blobs_of_a_transaction_since_osaka(chain: Chain) -> None:
    from cchain_app.evm.native import NativeEngine
    from cchain_app.evm.reference import ReferenceEngine
    from cchain_app.selectors.state import state_at

    env = chain.evm.rules.env_after(blocks.head(chain.evm), chain.now)
    for fork, skipped in (("prague", False), ("osaka", True)):
        for engine in (NativeEngine(), ReferenceEngine()):
            done = engine.execute_block(
                replace(env, fork=fork), [blob_transaction(7)], state_at(chain.evm, 0),
                skip_invalid=True,
            )  # fmt: skip
            assert [item.reason.rpartition("blobs: ")[2] for item in done.skipped] == (
                ["7, max: 6"] if skipped else []
            )


def test_dropped_transaction_loses_its_blobs_and_can_be_sent_again(chain: Chain) -> None:
    sent = send(chain)
    chain.nonce -= 1
    drop_transaction(chain.evm, sent)
    assert blobs.sidecar_of(chain.evm, sent) is None
    assert blobs.find(chain.evm, ZERO_HASH) is None

    assert send(chain) == sent
    assert blobs.sidecar_of(chain.evm, sent) == zero_sidecar()
    assert models.Blob.objects.count() == 1


def test_snapshot_restores_a_pending_blob_transaction(chain: Chain) -> None:
    sent = send(chain)
    number = snapshots.take_snapshot(chain.evm)
    chain.mine()

    assert snapshots.revert(chain.evm, number)
    assert pool.pending_hashes(chain.evm) == [sent]
    assert blobs.sidecar_of(chain.evm, sent) == zero_sidecar()
    assert [made.hash for made in chain.mine().transactions] == [sent]


def test_a_reset_deletes_the_blobs(chain: Chain) -> None:
    send(chain)
    chain.mine()
    snapshots.reset(chain.evm)
    assert not models.Blob.objects.exists()


def test_old_blobs_are_deleted(chain: Chain) -> None:
    old, new = send(chain, 2), send(chain)
    block = chain.mine()
    models.Blob.objects.filter(transaction_hash=old).update(
        received_at=models.Blob.objects.get(transaction_hash=new).received_at - SECONDS_KEPT - 60
    )

    assert pruning.prune(chain.evm, seconds=60).blobs == 2
    assert blobs.sidecar_of(chain.evm, old) is None
    assert blobs.sidecar_of(chain.evm, new) == zero_sidecar()
    assert len(block.transactions) == 2


@pytest.mark.node_settings(history_blobs=0)
def test_blobs_are_kept_if_pruning_is_disabled(chain: Chain) -> None:
    send(chain)
    models.Blob.objects.update(received_at=0)
    assert pruning.prune(chain.evm, seconds=60).blobs == 0
    assert models.Blob.objects.count() == 1


def test_a_follower_accepts_the_block_without_the_blobs(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(chain, 3)
    block = chain.mine()
    models.Blob.objects.all().delete()
    candidates = rewind(monkeypatch)

    (followed,) = follow(*candidates)

    assert (followed.hash, followed.header.blob_gas_used) == (block.hash, 3 * PER_BLOB)


def test_block_with_blobs_is_refused_without_blob_rules(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(chain)
    chain.mine()
    candidates = rewind(monkeypatch)
    evm = evm_chain()
    monkeypatch.setattr(evm, "config", replace(evm.config, blob_transactions=False))

    with pytest.raises(TransactionRefused) as caught:
        follow(*candidates)
    assert reason_of(caught.value.__cause__) is TransactionReason.BLOBS_NOT_SUPPORTED
    evm.read_genesis_again()


def test_a_block_with_too_many_blobs_is_refused(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(chain, 5)
    send(chain, 4)
    chain.mine()
    candidates = rewind(monkeypatch)
    evm = evm_chain()
    few = {name: replace_maximum(params, 8) for name, params in evm.config.blobs.items()}
    monkeypatch.setattr(evm, "config", replace(evm.config, blobs=few))

    with raises(
        BlockReason.TOO_MUCH_BLOB_GAS, match="blob gas used 1179648 exceeds maximum allowance 1048576",
        kind=BlockRefused,
    ):  # fmt: skip
        follow(*candidates)
    evm.read_genesis_again()


def replace_maximum(params: Any, maximum: int) -> Any:
    return params._replace(maximum=maximum)


def test_blob_transaction_is_not_gossiped(chain: Chain) -> None:
    plain = chain.make()
    chain.send(plain)
    sent = send(chain)
    assert pool.newest_hashes(chain.evm, 10) == [plain.hash]
    assert pool.raws_of(chain.evm, [plain.hash, sent]) == {plain.hash: plain.raw}
