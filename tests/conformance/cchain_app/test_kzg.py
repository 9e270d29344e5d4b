"""KZG commitments and proofs: the native engine's functions and the library's agree, and refuse what is wrong."""

from functools import cache

import pytest

from cchain_app.evm.kzg import CkzgLibrary, Kzg, MalformedBlob, make_sidecar
from cchain_app.evm.select import has_native, select_kzg
from cchain_app.txs.blobs import BYTES_PER_BLOB, Sidecar, versioned_hash
from tests.builders.blobs import INFINITY, NO_BLOB, OTHER_BLOB, ZERO_BLOB, zero_sidecar

ENGINES = [
    "reference",
    pytest.param("native", marks=pytest.mark.skipif(not has_native(), reason="not built")),
]


@cache
def kzg_of(engine: str) -> Kzg:
    """Return an engine's functions; each loads the trusted setup once."""
    return select_kzg(engine)


@pytest.fixture(params=ENGINES)
def kzg(request: pytest.FixtureRequest) -> Kzg:
    return kzg_of(request.param)


def test_a_blob_of_zeros_has_the_point_at_infinity(kzg: Kzg) -> None:
    assert kzg.commitment(ZERO_BLOB) == INFINITY
    for version in (0, 1):
        assert make_sidecar(kzg, [ZERO_BLOB], version) == zero_sidecar(1, version)


@pytest.mark.parametrize("version", [0, 1])
def test_computed_proofs_verify(kzg: Kzg, version: int) -> None:
    sidecar = make_sidecar(kzg, [OTHER_BLOB, ZERO_BLOB], version)

    assert kzg.verify(sidecar)
    assert sidecar.commitments[0] != INFINITY
    assert versioned_hash(sidecar.commitments[0]) != versioned_hash(INFINITY)


@pytest.mark.skipif(not has_native(), reason="not built")
@pytest.mark.parametrize("version", [0, 1])
def test_both_compute_the_same(version: int) -> None:
    blob = b"".join(b"\0" + bytes([index % 256]) * 31 for index in range(BYTES_PER_BLOB // 32))
    ours, theirs = (make_sidecar(kzg_of(name), [blob], version) for name in ("native", "reference"))
    assert ours == theirs


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("part", ["blobs", "commitments", "proofs"])
@pytest.mark.parametrize("value", [b"", b"\xff"])
def test_a_sidecar_with_another_value_is_refused(
    kzg: Kzg, version: int, part: str, value: bytes
) -> None:
    """With another value of the right form, or with one that is malformed."""
    good = zero_sidecar(2, version)
    values = list(getattr(good, part))
    wrong = value * len(values[-1]) or (OTHER_BLOB if part == "blobs" else GENERATOR)
    changed = good._replace(**{part: (*values[:-1], wrong)})

    assert kzg.verify(good)
    assert not kzg.verify(changed)


@pytest.mark.parametrize("blob", [NO_BLOB, ZERO_BLOB[1:], b""])
def test_malformed_blob_is_refused(kzg: Kzg, blob: bytes) -> None:
    with pytest.raises(MalformedBlob):
        kzg.commitment(blob)
    for version in (0, 1):
        with pytest.raises(MalformedBlob):
            kzg.proofs(blob, INFINITY, version)


def test_no_blobs_are_a_valid_sidecar(kzg: Kzg) -> None:
    assert kzg.verify(Sidecar(0, (), (), ()))


def test_the_reference_engine_uses_the_library() -> None:
    assert isinstance(select_kzg("reference"), CkzgLibrary)


GENERATOR = bytes.fromhex(
    "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"
)
"""The generator of G1, compressed."""
