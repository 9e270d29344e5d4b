"""The authorities (signers) of a transaction's authorizations."""

from cchain_app.txs.authorities import authorities_of
from cchain_app.txs.transaction import SET_CODE
from primitives import secp256k1
from tests.builders.cchain import SENDERS, authorization
from tests.builders.transactions import RECIPIENT, signed


def naming(*authorizations):
    return signed(type=SET_CODE, gas=1_000_000, authorizations=authorizations)


def found(*transactions):
    return authorities_of(transactions, secp256k1.recover_many)


def test_each_authority_is_named_once_in_the_order_of_the_list():
    entries = [
        authorization(signer, RECIPIENT, nonce) for signer, nonce in ((1, 0), (0, 0), (1, 1))
    ]
    assert found(naming(*entries)) == [(SENDERS[1], SENDERS[0])]


def test_an_authorization_for_another_chain_or_turn_has_an_authority_too():
    elsewhere = authorization(0, RECIPIENT, 0, chain_id=1)
    late = authorization(1, RECIPIENT, 99, chain_id=0)
    assert found(naming(elsewhere, late)) == [(SENDERS[0], SENDERS[1])]


def test_what_nobody_can_have_signed_has_none():
    good = authorization(0, RECIPIENT, 0)
    high = good._replace(s=secp256k1.ORDER - good.s, y_parity=1 - good.y_parity)
    wrong = [good._replace(r=0), good._replace(y_parity=2), high, good._replace(r=5)]
    assert secp256k1.recover_many([(bytes(32), 5, 1, 1)]) == [None]
    assert found(naming(*wrong)) == [()]
    assert found(naming(*wrong, good)) == [(SENDERS[0],)]


def test_all_are_recovered_in_one_call():
    asked = []

    def recover(signatures):
        asked.append(len(signatures))
        return secp256k1.recover_many(signatures)

    first = naming(authorization(0, RECIPIENT, 0), authorization(1, RECIPIENT, 0))
    second = naming(authorization(2, RECIPIENT, 0))
    assert authorities_of([first, second], recover) == [SENDERS[:2], (SENDERS[2],)]
    assert authorities_of([signed()], recover) == [()]
    assert asked == [3]
