"""Transfers from and to other chains, and the rejected types of transactions."""

from dataclasses import replace
from typing import Any

import pytest

from platform_app.config import UNIT
from platform_app.executor import standard
from platform_app.executor.errors import TxStateReason
from platform_app.state.chain import Diff
from platform_app.txs import l1
from platform_app.txs.base import UnsignedTx
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.staking import AdvanceTimeTx, RewardValidatorTx
from platform_app.txs.subnets import ExportTx, ImportTx, TransformSubnetTx
from primitives.ids import PRIMARY_NETWORK_ID
from tests.builders import platform
from tests.builders.platform_state import ENV, MemoryState, assert_refused, executed, state
from tests.builders.reasons import raises
from utxo.errors import InvalidTx

FUNDS = platform.utxo(2 * UNIT)
SHARED = platform.utxo(number=7)
ELSEWHERE = platform.some_id("a chain of a subnet")


def with_shared(chain=platform.X_CHAIN_ID) -> MemoryState:
    holder = state(FUNDS)
    holder.share(chain, SHARED)
    return holder


def test_import_consumes_the_exported_output() -> None:
    tx = platform.signed(ImportTx, outputs=platform.outputs(2 * UNIT))
    diff = executed(tx, with_shared())

    assert diff.utxos.changes().consumed == (FUNDS.utxo_id,)
    assert diff.utxos.changes().imported == ((platform.X_CHAIN_ID, SHARED.utxo_id),)
    assert [utxo.output_index for utxo in diff.utxos.changes().produced] == [0]


def test_import_pays_its_fee() -> None:
    tx = platform.signed(ImportTx, inputs=(), outputs=platform.outputs(UNIT - 1000))

    assert executed(tx, with_shared()).utxos.changes().imported


def test_an_import_cannot_make_more_than_it_takes() -> None:
    tx = platform.signed(ImportTx, inputs=(), outputs=platform.outputs(UNIT))

    assert_refused(
        tx,
        with_shared(),
        TxStateReason.INSUFFICIENT_UNLOCKED_FUNDS,
        f"insufficient unlocked funds: needs 1000 more {platform.ASSET_ID}",
    )


def test_credentials_of_imported_inputs_are_last() -> None:
    foreign = platform.utxo(UNIT, platform.ADDRESSES[1], number=7)
    holder = state(FUNDS)
    holder.share(platform.C_CHAIN_ID, foreign)
    tx = platform.signed(
        ImportTx,
        source_chain=platform.C_CHAIN_ID,
        imported_inputs=platform.spend_all(foreign),
        keys=[[platform.KEYS[0]], [platform.KEYS[1]]],
    )

    assert executed(tx, holder).utxos.changes().imported == (
        (platform.C_CHAIN_ID, foreign.utxo_id),
    )


def test_imported_inputs_need_credentials_too() -> None:
    assert_refused(
        platform.signed(ImportTx, keys=[[platform.KEY]]),
        with_shared(),
        TxStateReason.WRONG_NUMBER_OF_CREDENTIALS,
        "wrong number of credentials: 2 inputs != 1 credentials",
    )


def test_import_of_missing_output_is_refused() -> None:
    assert_refused(
        platform.signed(ImportTx),
        with_shared(platform.C_CHAIN_ID),
        TxStateReason.SHARED_UTXO_MISSING,
        "failed to get shared memory: not found",
    )


def test_import_in_a_decided_block_can_precede_the_export() -> None:
    tx = platform.signed(ImportTx, outputs=platform.outputs(2 * UNIT))
    diff = Diff(with_shared(platform.C_CHAIN_ID))
    standard.execute(tx, diff, replace(ENV, decided=True))

    assert diff.utxos.changes().imported == ((platform.X_CHAIN_ID, SHARED.utxo_id),)


def test_an_import_in_a_decided_block_is_verified_if_its_output_is_here() -> None:
    tx = platform.signed(ImportTx, inputs=(), outputs=platform.outputs(UNIT))
    with raises(TxStateReason.INSUFFICIENT_UNLOCKED_FUNDS, kind=InvalidTx):
        standard.execute(tx, Diff(with_shared()), replace(ENV, decided=True))


def test_nothing_can_be_imported_twice() -> None:
    holder = with_shared()
    holder.accept(executed(platform.signed(ImportTx), holder))
    again = platform.signed(ImportTx, inputs=())

    assert_refused(
        again, holder, TxStateReason.SHARED_UTXO_MISSING, "failed to get shared memory: not found"
    )


def test_an_import_s_own_inputs_must_exist() -> None:
    holder = state()
    holder.share(platform.X_CHAIN_ID, SHARED)

    assert_refused(
        platform.signed(ImportTx),
        holder,
        TxStateReason.UTXO_MISSING,
        f"failed to read consumed UTXO {FUNDS.tx_id}:0 due to: not found",
    )


def test_an_export_leaves_outputs_to_the_other_chain() -> None:
    made, exported = platform.outputs(UNIT // 2), platform.outputs(UNIT // 4, UNIT // 2)
    tx = platform.signed(ExportTx, outputs=made, exported_outputs=exported)
    diff = executed(tx, state(FUNDS))

    assert [utxo.output_index for utxo in diff.utxos.changes().produced] == [0]
    assert [chain for chain, _ in diff.utxos.changes().exported] == [platform.X_CHAIN_ID] * 2
    assert [utxo.output_index for _, utxo in diff.utxos.changes().exported] == [1, 2]
    assert [utxo.output for _, utxo in diff.utxos.changes().exported] == [
        item.output for item in exported
    ]


def test_an_export_is_paid_for() -> None:
    assert_refused(
        platform.signed(ExportTx, exported_outputs=platform.outputs(UNIT)),
        state(FUNDS),
        TxStateReason.EXPORT_NOT_FUNDED,
        f"failed verifySpend: insufficient unlocked funds: needs 1000 more {platform.ASSET_ID}",
        because=TxStateReason.INSUFFICIENT_UNLOCKED_FUNDS,
    )


PEERS: list[tuple[type[UnsignedTx], str]] = [
    (ImportTx, "source_chain"),
    (ExportTx, "destination_chain"),
]


@pytest.mark.parametrize(("kind", "field"), PEERS)
def test_import_from_the_own_chain_is_refused(kind: type[UnsignedTx], field: str) -> None:
    tx = platform.signed(kind, **{field: PRIMARY_NETWORK_ID})

    assert_refused(tx, with_shared(), TxStateReason.SAME_CHAIN, "same chainID")


@pytest.mark.parametrize(("kind", "field"), PEERS)
def test_the_other_chain_exists(kind: type[UnsignedTx], field: str) -> None:
    tx = platform.signed(kind, **{field: ELSEWHERE})

    assert_refused(
        tx,
        with_shared(),
        TxStateReason.UNKNOWN_PEER,
        f'failed to get subnet of "{ELSEWHERE}": problem retrieving blockchain "{ELSEWHERE}": '
        "not found",
    )


@pytest.mark.parametrize(("kind", "field"), PEERS)
def test_the_other_chain_is_the_primary_network_s(kind: type[UnsignedTx], field: str) -> None:
    tx, holder = platform.signed(kind, **{field: ELSEWHERE}), with_shared()
    holder.subnets.blockchains[ELSEWHERE] = platform.SUBNET_ID

    assert_refused(
        tx,
        holder,
        TxStateReason.PEER_OF_OTHER_SUBNET,
        f'mismatched subnetIDs; expected "{PRIMARY_NETWORK_ID}" got "{platform.SUBNET_ID}"',
    )


def test_a_chain_of_the_primary_network_that_state_knows_is_a_peer() -> None:
    holder = state(FUNDS, blockchains={ELSEWHERE: PRIMARY_NETWORK_ID})
    tx = platform.signed(ExportTx, destination_chain=ELSEWHERE)

    assert executed(tx, holder).utxos.changes().exported[0][0] == ELSEWHERE


@pytest.mark.parametrize(
    ("kind", "reason", "words"),
    [
        (AdvanceTimeTx, TxStateReason.WRONG_TX_TYPE, "wrong transaction type"),
        (RewardValidatorTx, TxStateReason.WRONG_TX_TYPE, "wrong transaction type"),
        (l1.RewardAutoRenewedValidatorTx, TxStateReason.WRONG_TX_TYPE, "wrong transaction type"),
        (
            TransformSubnetTx,
            TxStateReason.TRANSFORM_SUBNET_REFUSED,
            "TransformSubnetTx is not permitted post-Etna",
        ),
        *(
            (
                kind,
                TxStateReason.HELICON_FEATURE,
                "attempting to use a Helicon-upgrade feature prior to activation",
            )
            for kind in (l1.AddAutoRenewedValidatorTx, l1.SetAutoRenewedValidatorConfigTx)
        ),
    ],
)
def test_unsupported_transaction_type_is_refused(kind: Any, reason: Any, words: str) -> None:
    assert_refused(platform.signed(kind), state(FUNDS), reason, words)


@pytest.mark.parametrize("kind", platform.every_type(), ids=lambda kind: kind.__name__)
def test_every_transaction_type_has_a_rule_or_a_refusal(kind: type[UnsignedTx]) -> None:
    assert (kind in standard._RULES) != (kind in standard._REFUSED)


def test_syntax_is_checked_first() -> None:
    assert_refused(
        platform.signed(network_id=1),
        state(),
        TxSyntaxReason.WRONG_NETWORK_ID,
        "tx has wrong network ID",
    )
