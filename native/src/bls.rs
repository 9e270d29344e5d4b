//! BLS signatures on BLS12-381: public keys in G1, signatures in G2, both compressed.
//!
//! The domain tag is a parameter of each call. A secret key exists only in its caller's bytes and
//! in a value that is wiped when it is dropped; no error message contains it. All work is done on
//! the caller's thread: blst is built without its thread pool (`no-threads`), which would not
//! survive a fork.

use blst::{
    BLST_ERROR,
    min_pk::{AggregatePublicKey, AggregateSignature, PublicKey, SecretKey, Signature},
};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

/// Return the public key of a secret key of 32 bytes.
#[pyfunction]
pub(crate) fn bls_public_key<'py>(py: Python<'py>, secret: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let key = parse_secret(secret)?;
    Ok(PyBytes::new(py, &py.detach(|| key.sk_to_pk().compress())))
}

/// Return the signature of a message under a domain tag.
#[pyfunction]
pub(crate) fn bls_sign<'py>(
    py: Python<'py>,
    secret: &[u8],
    message: &[u8],
    tag: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let key = parse_secret(secret)?;
    Ok(PyBytes::new(py, &py.detach(|| key.sign(message, tag, &[]).compress())))
}

/// Return whether bytes are a signature: a point in the subgroup, which may be the identity.
#[pyfunction]
pub(crate) fn bls_is_signature(py: Python<'_>, signature: &[u8]) -> bool {
    py.detach(|| parse_signature(signature).is_ok())
}

/// Return whether the signature is valid for the message and the key; false for a malformed key or
/// signature.
#[pyfunction]
pub(crate) fn bls_verify(
    py: Python<'_>,
    key: &[u8],
    message: &[u8],
    signature: &[u8],
    tag: &[u8],
) -> bool {
    py.detach(|| match (parse_key(key), parse_signature(signature)) {
        (Ok(key), Ok(signature)) => {
            // Both points were validated when they were parsed.
            signature.verify(false, message, tag, &[], &key, false) == BLST_ERROR::BLST_SUCCESS
        }
        _ => false,
    })
}

/// Return the sum of public keys; None if the list is empty or contains an invalid key.
#[pyfunction]
pub(crate) fn bls_aggregate_public_keys<'py>(
    py: Python<'py>,
    keys: Vec<Vec<u8>>,
) -> Option<Bound<'py, PyBytes>> {
    let sum = py.detach(|| {
        let keys = keys.iter().map(|key| parse_key(key)).collect::<Result<Vec<_>, _>>()?;
        let keys: Vec<_> = keys.iter().collect();
        Ok::<_, BLST_ERROR>(AggregatePublicKey::aggregate(&keys, false)?.to_public_key())
    });
    Some(PyBytes::new(py, &sum.ok()?.compress()))
}

/// Return the sum of signatures; None if the list is empty or contains an invalid signature.
#[pyfunction]
pub(crate) fn bls_aggregate_signatures<'py>(
    py: Python<'py>,
    signatures: Vec<Vec<u8>>,
) -> Option<Bound<'py, PyBytes>> {
    let sum = py.detach(|| {
        let signatures = signatures
            .iter()
            .map(|signature| parse_signature(signature))
            .collect::<Result<Vec<_>, _>>()?;
        let signatures: Vec<_> = signatures.iter().collect();
        Ok::<_, BLST_ERROR>(AggregateSignature::aggregate(&signatures, false)?.to_signature())
    });
    Some(PyBytes::new(py, &sum.ok()?.compress()))
}

fn parse_secret(secret: &[u8]) -> PyResult<SecretKey> {
    SecretKey::from_bytes(secret).map_err(|_| PyValueError::new_err("invalid BLS secret key"))
}

fn parse_key(bytes: &[u8]) -> Result<PublicKey, BLST_ERROR> {
    let key = PublicKey::uncompress(bytes)?;
    key.validate()?;
    Ok(key)
}

fn parse_signature(bytes: &[u8]) -> Result<Signature, BLST_ERROR> {
    let signature = Signature::uncompress(bytes)?;
    signature.validate(false)?;
    Ok(signature)
}
