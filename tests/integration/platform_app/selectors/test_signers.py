"""Who signs warp messages for a chain: by the source's subnet, the receiver's, and what the receiver asks for."""

import pytest

from platform_app.apps import platform_chain
from platform_app.selectors import stakers
from platform_app.selectors.signers import SourceReason, signers_for
from primitives.ids import ID, P_CHAIN_ID, PRIMARY_NETWORK_ID
from primitives.warp import CanonicalSet
from tests.builders.reasons import raises
from tests.integration.platform_app.conftest import PChain

L1 = ID(b"\x07" * 32)
"""A subnet that nobody validates yet."""


def signers(receiver: ID, source: ID, *, primary_network: bool = False) -> CanonicalSet:
    return signers_for(platform_chain(), receiver, source, None, primary_network=primary_network)


def test_validators_of_the_primary_network_sign_for_its_chains(pchain: PChain) -> None:
    everyone = stakers.signers_at(platform_chain(), PRIMARY_NETWORK_ID, None)

    assert len(everyone.validators) == 1
    for source in (P_CHAIN_ID, pchain.network.c_chain_id, pchain.network.x_chain_id):
        assert signers(PRIMARY_NETWORK_ID, source) == everyone
        assert signers(PRIMARY_NETWORK_ID, source, primary_network=True) == everyone


def test_a_subnet_s_own_validators_sign_what_it_reads_from_the_primary_network(
    pchain: PChain,
) -> None:
    everyone = stakers.signers_at(platform_chain(), PRIMARY_NETWORK_ID, None)

    assert signers(L1, pchain.network.c_chain_id) == CanonicalSet((), 0)
    assert signers(L1, pchain.network.c_chain_id, primary_network=True) == everyone
    assert signers(L1, P_CHAIN_ID, primary_network=True) == CanonicalSet((), 0)


@pytest.mark.parametrize("receiver", [PRIMARY_NETWORK_ID, L1])
def test_unknown_chain_has_no_signers(pchain: PChain, receiver: ID) -> None:
    with raises(SourceReason.UNKNOWN_CHAIN):
        signers(receiver, L1)


def test_signers_are_those_at_an_accepted_height(pchain: PChain) -> None:
    chain = platform_chain()

    with raises(stakers.UnfinalizedHeight.MESSAGE):
        signers_for(
            chain, PRIMARY_NETWORK_ID, P_CHAIN_ID, chain.tip().height + 1, primary_network=False
        )
