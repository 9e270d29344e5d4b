"""The blob gas market, compared to the executable specification."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.blocks.assembly import blob_base_fee, excess_after
from cchain_app.config import BlobParameters
from cchain_app.txs.transaction import GAS_PER_BLOB
from tests.builders.accepted import header
from tests.builders.roots import fork_module

with_blobs = pytest.mark.parametrize(
    ("fork", "blobs"),
    [
        ("cancun", BlobParameters(3, 6, 3338477)),
        ("prague", BlobParameters(6, 9, 5007716)),
        ("osaka", BlobParameters(6, 9, 5007716)),
        ("bpo1", BlobParameters(10, 15, 8346193)),
        ("bpo2", BlobParameters(14, 21, 11684671)),
    ],
)
excesses = st.integers(min_value=0, max_value=300 * GAS_PER_BLOB)


@with_blobs
@given(excess=excesses)
def test_the_price_is_the_specifications(fork: str, blobs: BlobParameters, excess: int) -> None:
    gas = fork_module(fork, "vm.gas")
    price = gas.calculate_blob_gas_price(fork_module(fork, "vm.gas").U64(excess))

    assert blob_base_fee(excess, blobs.update_fraction) == int(price)


@with_blobs
@given(
    excess=excesses,
    used=st.integers(min_value=0, max_value=21),
    base_fee=st.integers(min_value=0, max_value=10**12),
)
def test_the_excess_is_the_specifications(
    fork: str, blobs: BlobParameters, excess: int, used: int, base_fee: int
) -> None:
    parent = header(excess_blob_gas=excess, blob_gas_used=used * GAS_PER_BLOB, base_fee=base_fee)
    gas, kinds = fork_module(fork, "vm.gas"), fork_module(fork, "blocks").Header
    theirs = object.__new__(kinds)
    for name, value in (
        ("excess_blob_gas", gas.U64(excess)),
        ("blob_gas_used", gas.U64(used * GAS_PER_BLOB)),
        ("base_fee_per_gas", gas.Uint(base_fee)),
    ):
        object.__setattr__(theirs, name, value)

    assert excess_after(parent, blobs, fork) == int(gas.calculate_excess_blob_gas(theirs))


def test_excess_blob_gas_starts_at_zero_with_cancun() -> None:
    parent = header(
        excess_blob_gas=None, blob_gas_used=None, parent_beacon_block_root=None, requests_hash=None
    )

    assert excess_after(parent, BlobParameters(3, 6, 3338477), "cancun") == 0
