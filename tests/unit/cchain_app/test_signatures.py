"""Signatures with an overridden signer, and the blocks in which they are valid."""

from cchain_app.development.overrides import NextBlockOverrides, SignatureOverride, signers_at
from cchain_app.evm.overrides import BlockOverride
from primitives.evm import Address
from tests.builders.cchain import block_env

FIRST, SECOND = b"\x01" * 65, b"\x02" * 65
ALICE, BOB = Address(b"\xa1" * 20), Address(b"\xb0" * 20)
SET = (
    SignatureOverride(2, FIRST, ALICE),
    SignatureOverride(2, SECOND, ALICE),
    SignatureOverride(5, FIRST, BOB),
)


def test_a_signature_has_its_signer_from_its_block_on() -> None:
    assert signers_at(SET, 1) == ()
    assert signers_at(SET, 2) == signers_at(SET, 4) == ((FIRST, ALICE), (SECOND, ALICE))


def test_the_last_signer_holds() -> None:
    assert signers_at(SET, 5) == signers_at(SET) == ((FIRST, BOB), (SECOND, ALICE))


def test_the_next_block_has_all_of_them() -> None:
    assert NextBlockOverrides().of_next_block(0) is None
    override = NextBlockOverrides(signatures=SET).of_next_block(0)
    assert override == BlockOverride(signers=((FIRST, BOB), (SECOND, ALICE)))
    assert override.apply(block_env()).signers == override.signers


def test_block_override_keeps_recovered_signers() -> None:
    env = block_env(signers=((FIRST, ALICE),))
    assert BlockOverride(number=7).apply(env).signers == env.signers
