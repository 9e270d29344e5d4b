"""The complexity of transactions that the vectors do not cover: locks, several signers, L1 transactions."""

import pytest

from platform_app.config import UNIT
from platform_app.executor.complexity import Complexity, complexity_of
from platform_app.txs import l1, staking
from platform_app.txs.base import AuthInput, BaseTx, UnsignedTx
from platform_app.txs.errors import UnsupportedTxType
from platform_app.txs.subnets import AddSubnetValidatorTx, CreateChainTx, TransformSubnetTx
from tests.builders.platform import (
    ADDRESSES,
    KEYS,
    credential_count,
    every_type,
    output,
    owners,
    signed,
    spend_all,
    unsigned,
    utxo,
)

WITHOUT = {
    staking.AddValidatorTx,
    staking.AddDelegatorTx,
    staking.AdvanceTimeTx,
    staking.RewardValidatorTx,
    TransformSubnetTx,
    l1.RewardAutoRenewedValidatorTx,
}


@pytest.mark.parametrize(
    "cls", [cls for cls in every_type() if cls not in WITHOUT], ids=lambda cls: cls.__name__
)
def test_bandwidth_is_the_length_of_the_signed_bytes(cls: type[UnsignedTx]) -> None:
    tx = signed(cls)

    assert complexity_of(tx.unsigned).bandwidth == len(tx.raw)


@pytest.mark.parametrize(
    "cls", sorted(WITHOUT, key=lambda cls: cls.__name__), ids=lambda cls: cls.__name__
)
def test_other_types_have_none(cls: type[UnsignedTx]) -> None:
    with pytest.raises(UnsupportedTxType, match=r"^unsupported transaction type$"):
        complexity_of(unsigned(cls))


def test_locks_and_several_signers_take_bandwidth_and_compute() -> None:
    of_three = {"threshold": 2, "stakeable_until": 9}
    tx = unsigned(
        BaseTx,
        inputs=spend_all(utxo(UNIT, *ADDRESSES[:3], **of_three)),
        outputs=(output(UNIT, *ADDRESSES[:3], **of_three),),
        memo=b"memo",
    )

    found = complexity_of(tx)

    assert found == Complexity(58 + (60 + 60 + 12) + (92 + 138 + 12) + 4, 1, 2, 400)
    assert found.bandwidth == len(signed(tx, [KEYS[:2]]).raw)


def test_authorizations_count_their_signers() -> None:
    tx = unsigned(AddSubnetValidatorTx, inputs=(), subnet_authorization=AuthInput((0, 1, 2)))

    found = complexity_of(tx)

    assert found.compute == 600
    assert found.bandwidth == len(signed(tx, [KEYS[:3]]).raw)


def test_a_chain_counts_name_features_and_genesis() -> None:
    chain = unsigned(CreateChainTx, chain_name="abcde", genesis_data=bytes(100), fx_ids=())

    assert complexity_of(chain).bandwidth == len(signed(chain).raw)
    assert complexity_of(chain)[1:] == (3 + 1, 1 + 1 + 1, 400)


def test_every_validator_of_a_conversion_is_verified_and_written() -> None:
    (made,) = unsigned(l1.ConvertSubnetToL1Tx).validators
    one = complexity_of(unsigned(l1.ConvertSubnetToL1Tx))
    two = complexity_of(unsigned(l1.ConvertSubnetToL1Tx, validators=(made, made)))

    assert two == Complexity(
        one.bandwidth + 36 + 20 + 144 + 40, one.reads, one.writes + 4, one.compute + 1050
    )


def test_owners_count_their_addresses() -> None:
    one = complexity_of(unsigned(staking.AddPermissionlessValidatorTx))
    five = complexity_of(
        unsigned(staking.AddPermissionlessValidatorTx, delegation_rewards_owner=owners(*ADDRESSES))
    )

    assert five == one._replace(bandwidth=one.bandwidth + 80)


def test_builders_sign_as_often_as_there_is_something_to_sign() -> None:
    assert credential_count(unsigned(CreateChainTx)) == 2
    assert credential_count(unsigned(BaseTx, inputs=())) == 0
