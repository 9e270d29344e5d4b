"""Intrinsic gas, compared to the executable specification."""

from hypothesis import given
from hypothesis import strategies as st

from cchain_app.txs.signing import sign_authorization
from cchain_app.txs.transaction import floor_gas, intrinsic_gas
from primitives.recursion import recursion_limit_restored
from tests.builders.transactions import KEY, RECIPIENT, unsigned

with recursion_limit_restored():
    from ethereum.forks.prague import fork_types
    from ethereum.forks.prague import transactions as specification
    from ethereum_types.bytes import Bytes0
    from ethereum_types.numeric import U8, U64, U256, Uint

PERMISSION = sign_authorization(0, RECIPIENT, 0, KEY)


def by_specification(transaction):
    """Return intrinsic gas and floor by the rules of Prague."""
    none = U256(0)
    common = {
        "chain_id": U64(1), "nonce": Uint(0), "max_priority_fee_per_gas": Uint(0),
        "max_fee_per_gas": Uint(0), "gas": Uint(0), "value": none, "data": transaction.data,
        "y_parity": none, "r": none, "s": none,
        "access_list": tuple(
            specification.Access(fork_types.Address(address), slots)
            for address, slots in transaction.access_list
        ),
    }  # fmt: skip
    if transaction.to is None:
        theirs = specification.FeeMarketTransaction(to=Bytes0(b""), **common)
    else:
        to = fork_types.Address(transaction.to)
        permission = fork_types.Authorization(none, to, U64(0), U8(0), none, none)
        permissions = (permission,) * len(transaction.authorizations)
        theirs = specification.SetCodeTransaction(
            to=to, authorizations=permissions, **{**common, "chain_id": U64(1), "nonce": U64(0)}
        )
    intrinsic, floor = specification.calculate_intrinsic_cost(theirs)
    return int(intrinsic), int(floor)


@given(
    st.none() | st.just(RECIPIENT),
    st.binary(max_size=200),
    st.lists(st.integers(min_value=0, max_value=3), max_size=3),
    st.integers(min_value=0, max_value=2),
)
def test_intrinsic_and_floor_gas_match_the_prague_specification(to, data, slot_counts, permissions):
    transaction = unsigned(
        to=to,
        data=data,
        access_list=tuple((RECIPIENT, (bytes(32),) * count) for count in slot_counts),
        authorizations=(PERMISSION,) * permissions if to else (),
    )
    ours = intrinsic_gas(transaction, "prague"), floor_gas(data, "prague")
    assert ours == by_specification(transaction)


def test_earlier_forks_charge_otherwise():
    creation = unsigned(to=None, data=b"\x01" * 33)
    assert intrinsic_gas(creation, "frontier") == 21_000 + 33 * 68
    assert intrinsic_gas(creation, "homestead") == 53_000 + 33 * 68
    assert intrinsic_gas(creation, "istanbul") == 53_000 + 33 * 16
    assert intrinsic_gas(creation, "shanghai") == 53_000 + 33 * 16 + 2 * 2
    assert floor_gas(b"\x01", "cancun") == 0
