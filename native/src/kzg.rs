//! KZG commitments and proofs of blobs: EIP-4844, and the cell proofs of EIP-7594.
//!
//! The trusted setup is part of the c-kzg crate. It is loaded once per process, when it is first
//! needed. That and all other work is done without the interpreter lock.

use c_kzg::{Blob, Bytes48, CELLS_PER_EXT_BLOB, Error, KzgSettings, ethereum_kzg_settings};
use pyo3::{exceptions::PyValueError, prelude::*, pybacked::PyBackedBytes, types::PyBytes};

/// No precomputed tables. Those that revm's point evaluation precompile has take three times as long
/// to load, and only speed up the computation of proofs.
const PRECOMPUTE: u64 = 0;

fn settings() -> &'static KzgSettings {
    ethereum_kzg_settings(PRECOMPUTE)
}

/// Return whether each blob has the commitment and the proof at its index; false for malformed
/// values too.
#[pyfunction]
pub(crate) fn kzg_verify_blobs(
    py: Python<'_>,
    blobs: Vec<PyBackedBytes>,
    commitments: Vec<PyBackedBytes>,
    proofs: Vec<PyBackedBytes>,
) -> bool {
    py.detach(|| verify_blobs(&blobs, &commitments, &proofs)).unwrap_or(false)
}

/// Return whether the cells of each blob have its commitment and its 128 proofs; false for malformed
/// values too.
#[pyfunction]
pub(crate) fn kzg_verify_cells(
    py: Python<'_>,
    blobs: Vec<PyBackedBytes>,
    commitments: Vec<PyBackedBytes>,
    proofs: Vec<PyBackedBytes>,
) -> bool {
    py.detach(|| verify_cells(&blobs, &commitments, &proofs)).unwrap_or(false)
}

/// Return the commitment to a blob.
#[pyfunction]
pub(crate) fn kzg_commitment<'py>(
    py: Python<'py>,
    blob: PyBackedBytes,
) -> PyResult<Bound<'py, PyBytes>> {
    let commitment = py.detach(|| settings().blob_to_kzg_commitment(&*read_blob(&blob)?));
    Ok(PyBytes::new(py, &*commitment.map_err(malformed)?.to_bytes()))
}

/// Return the proof that a blob has a commitment.
#[pyfunction]
pub(crate) fn kzg_blob_proof<'py>(
    py: Python<'py>,
    blob: PyBackedBytes,
    commitment: PyBackedBytes,
) -> PyResult<Bound<'py, PyBytes>> {
    let proof = py.detach(|| {
        let commitment = Bytes48::from_bytes(&commitment)?;
        settings().compute_blob_kzg_proof(&*read_blob(&blob)?, &commitment)
    });
    Ok(PyBytes::new(py, &*proof.map_err(malformed)?.to_bytes()))
}

/// Return the proofs of the 128 cells of a blob.
#[pyfunction]
pub(crate) fn kzg_cell_proofs<'py>(
    py: Python<'py>,
    blob: PyBackedBytes,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let computed = py.detach(|| settings().compute_cells_and_kzg_proofs(&*read_blob(&blob)?));
    let (_, proofs) = computed.map_err(malformed)?;
    Ok(proofs.iter().map(|proof| PyBytes::new(py, &*proof.to_bytes())).collect())
}

fn verify_blobs(
    blobs: &[PyBackedBytes],
    commitments: &[PyBackedBytes],
    proofs: &[PyBackedBytes],
) -> Result<bool, Error> {
    let blobs = blobs.iter().map(|blob| Blob::from_bytes(blob)).collect::<Result<Vec<_>, _>>()?;
    settings().verify_blob_kzg_proof_batch(
        &blobs,
        &read_points(commitments)?,
        &read_points(proofs)?,
    )
}

fn verify_cells(
    blobs: &[PyBackedBytes],
    commitments: &[PyBackedBytes],
    proofs: &[PyBackedBytes],
) -> Result<bool, Error> {
    let mut cells = Vec::with_capacity(blobs.len() * CELLS_PER_EXT_BLOB);
    for blob in blobs {
        cells.extend_from_slice(&settings().compute_cells(&*read_blob(blob)?)?[..]);
    }
    let commitments: Vec<_> = read_points(commitments)?
        .into_iter()
        .flat_map(|commitment| [commitment; CELLS_PER_EXT_BLOB])
        .collect();
    let indices: Vec<u64> = blobs.iter().flat_map(|_| 0..CELLS_PER_EXT_BLOB as u64).collect();
    settings().verify_cell_kzg_proof_batch(&commitments, &indices, &cells, &read_points(proofs)?)
}

fn read_blob(bytes: &[u8]) -> Result<Box<Blob>, Error> {
    Blob::from_bytes(bytes).map(Box::new)
}

fn read_points(points: &[PyBackedBytes]) -> Result<Vec<Bytes48>, Error> {
    points.iter().map(|point| Bytes48::from_bytes(point)).collect()
}

fn malformed(error: Error) -> PyErr {
    PyValueError::new_err(format!("no blob: {error}"))
}
