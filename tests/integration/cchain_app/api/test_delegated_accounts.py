"""eth_sendRawTransaction for accounts with a delegation (EIP-7702), set on chain or pending."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from cchain_app.apps import evm_chain
from cchain_app.services.removal import expire
from cchain_app.txs.signing import sign_transaction
from cchain_app.txs.transaction import SET_CODE
from jsonrpc.errors import JsonRpcError
from primitives.evm import Address
from tests.builders.cchain import JUNK_KEYS, SENDERS, authorization
from tests.builders.transactions import KEY, RECIPIENT, signed, unsigned

GWEI = 10**9
OWNER, OTHER = JUNK_KEYS[:2]
IN_FLIGHT = "in-flight transaction limit reached for delegated accounts"
GAPPED = "gapped-nonce tx from delegated accounts"
RESERVED = "authority already reserved"
DEARER = {"max_fee_per_gas": 60 * GWEI, "max_priority_fee_per_gas": 2 * GWEI}


@pytest.fixture
def send(rpc, chain):
    """Send a transaction over RPC; return None, or the error message."""

    def sent(made):
        try:
            answer = rpc("eth_sendRawTransaction", "0x" + made.raw.hex())
        except JsonRpcError as refusal:
            return refusal.message if refusal.code == -32000 else refusal
        return None if answer == "0x" + made.hash.hex() else answer

    return sent


def delegating(*signers, nonce=0, key=KEY, at=0, **fields):
    """Return a set-code transaction for accounts whose nonces are `at`."""
    entries = tuple(authorization(signer, RECIPIENT, at) for signer in signers)
    return signed(
        key=key, type=SET_CODE, nonce=nonce, gas=200_000, authorizations=entries, **fields
    )


def of_owner(nonce, **fields):
    return signed(key=OWNER, nonce=nonce, **fields)


@pytest.fixture
def delegated(rpc, chain, send):
    """An account with a delegation; its nonce is 1."""
    assert send(delegating(0)) is None
    chain.mine()
    code = rpc("eth_getCode", "0x" + SENDERS[0].hex(), "latest")
    assert code == "0xef0100" + RECIPIENT.hex()


def test_a_delegated_account_has_one_transaction_in_flight(send, chain, delegated):
    assert send(of_owner(1)) is None
    assert send(of_owner(2)) == IN_FLIGHT
    assert send(of_owner(3)) == IN_FLIGHT
    chain.mine()
    assert send(of_owner(2)) is None


def test_a_delegated_account_leaves_no_gap(send, delegated):
    assert send(of_owner(2)) == GAPPED
    assert send(of_owner(1)) is None


def test_a_delegated_account_may_replace_the_one_in_flight(send, delegated):
    assert send(of_owner(1)) is None
    assert send(of_owner(1, value=2)) == "replacement transaction underpriced"
    assert send(of_owner(1, **DEARER)) is None
    assert send(of_owner(2)) == IN_FLIGHT


def test_revoked_delegation_has_no_limit(send, chain, delegated):
    nobody = (authorization(0, Address(bytes(20)), 1),)
    assert send(signed(type=SET_CODE, nonce=1, gas=200_000, authorizations=nobody)) is None
    chain.mine()
    assert [send(of_owner(nonce)) for nonce in (2, 3, 5)] == [None, None, None]


def test_a_waiting_authorization_counts_like_a_delegation(send):
    assert send(delegating(0)) is None
    assert send(of_owner(1)) == GAPPED
    assert send(of_owner(0)) is None
    assert send(of_owner(1)) == IN_FLIGHT


def test_restarted_process_knows_the_authorities(send, chain):
    assert send(delegating(1, 0)) is None
    chain.forget()
    assert send(of_owner(1)) == GAPPED


def test_limit_holds_within_one_batch(chain, rpc):
    with pytest.raises(Exception, match=IN_FLIGHT):
        chain.send(delegating(0), of_owner(0), of_owner(1))
    assert rpc("txpool_status") == {"pending": "0x2", "queued": "0x0"}


def test_account_with_several_pending_is_refused_as_authority(send):
    assert send(of_owner(0)) is None
    assert send(delegating(0)) is None  # allowed: only one of its transactions is pending
    assert send(signed(key=OTHER, nonce=0)) is None
    assert send(signed(key=OTHER, nonce=9)) is None
    assert send(delegating(2, 1, nonce=1)) == RESERVED
    assert send(delegating(2, nonce=1)) is None


def test_self_delegating_sender_can_only_replace_its_transaction(send):
    own = {"signers": (0,), "key": OWNER, "at": 1}
    assert send(delegating(*own.pop("signers"), **own)) is None
    assert send(of_owner(1)) == IN_FLIGHT
    assert send(delegating(0, **own, **DEARER)) is None
    assert send(of_owner(1)) == IN_FLIGHT


def test_an_authority_named_by_two_is_free_when_both_are_mined(send, chain):
    assert send(delegating(0, at=7)) is None  # the nonce does not match: it will set no code
    assert send(delegating(0, at=7, key=OTHER)) is None
    assert send(of_owner(1)) == GAPPED
    chain.mine()
    assert send(of_owner(1)) is None


def test_replaced_transaction_releases_its_authority(send):
    assert send(delegating(0)) is None
    assert send(of_owner(1)) == GAPPED
    assert send(signed(nonce=0, **DEARER)) is None
    assert send(of_owner(1)) is None


def test_a_replacement_that_names_another_frees_the_first(send):
    assert send(delegating(0)) is None
    assert send(delegating(1, **DEARER)) is None
    assert send(of_owner(1)) is None
    assert send(signed(key=OTHER, nonce=1)) == GAPPED


def test_expired_transaction_releases_its_authority(send, chain):
    assert send(delegating(0, nonce=5)) is None  # queued
    assert send(of_owner(1)) == GAPPED
    assert expire(evm_chain(), now=2**33) == 1
    assert send(of_owner(1)) is None


@pytest.mark.node_settings(pool_slots=1, pool_queue=1, pool_account_slots=1)
def test_evicted_transaction_releases_its_authority(send):
    assert send(delegating(0, nonce=5)) is None
    assert send(of_owner(1)) == GAPPED
    assert send(signed(key=OTHER, nonce=5, **DEARER)) is None  # replaces the only queued one
    assert send(of_owner(1, max_fee_per_gas=70 * GWEI, max_priority_fee_per_gas=3 * GWEI)) is None


def test_forged_authorization_limits_no_account(send):
    forged = authorization(0, RECIPIENT, 0)._replace(r=0)
    assert send(signed(type=SET_CODE, gas=100_000, authorizations=(forged,))) is None
    assert [send(of_owner(nonce)) for nonce in (0, 1, 3)] == [None, None, None]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"authorizations": ()}, "set code tx must have at least one authorization tuple"),
        ({"gas": 45_999}, "intrinsic gas too low: gas 45999, minimum needed 46000"),
        ({"to": None}, "rlp: input string too short for common.Address, decoding into"),
    ],
)
def test_malformed_set_code_transaction_is_refused(rpc, chain, fields, words):
    fields = {
        "type": SET_CODE, "gas": 100_000, "authorizations": (authorization(0, RECIPIENT, 0),),
        **fields,
    }  # fmt: skip
    with pytest.raises(JsonRpcError) as refusal:
        rpc("eth_sendRawTransaction", "0x" + sign_transaction(unsigned(**fields), KEY).hex())
    assert refusal.value.code == -32000
    assert refusal.value.message.startswith(words)


def test_authorities_are_queried_only_while_some_are_pending(send, chain):
    def looks(nonce):
        with CaptureQueriesContext(connection) as seen:
            assert send(signed(nonce=nonce)) is None
        return len(seen), sum("authorities IS NOT NULL" in item["sql"] for item in seen)

    send(signed(nonce=0))
    usual, of_authorities = looks(1)
    assert of_authorities == 0
    assert send(delegating(1, nonce=2)) is None
    assert looks(3) == (usual + 1, 1)
    chain.mine()
    assert looks(4) == (usual - 1, 0)  # an empty pool has no rows of the sender either
    assert looks(5) == (usual, 0)
