//! Who signed: senders of whole batches from their signatures, in parallel.

use rayon::prelude::*;
use revm::primitives::{Address, B256, keccak256};
use secp256k1::{
    Message,
    ecdsa::{RecoverableSignature, RecoveryId},
};

/// Below this many signatures a batch is done where it is.
const PARALLEL: usize = 8;

/// Digest, r, s, and which of two points is meant.
pub(crate) type Signature = (B256, B256, B256, u8);

/// The address that signed each digest; None where the signature is not one.
pub(crate) fn recover_all(signatures: &[Signature]) -> Vec<Option<Address>> {
    if signatures.len() < PARALLEL {
        return signatures.iter().map(recover).collect();
    }
    signatures.par_iter().map(recover).collect()
}

fn recover((digest, r, s, parity): &Signature) -> Option<Address> {
    let recovery = RecoveryId::try_from(i32::from(*parity)).ok()?;
    let mut compact = [0; 64];
    compact[..32].copy_from_slice(r.as_slice());
    compact[32..].copy_from_slice(s.as_slice());
    let signature = RecoverableSignature::from_compact(&compact, recovery).ok()?;
    let key = signature.recover(Message::from_digest(digest.0)).ok()?;
    Some(Address::from_slice(&keccak256(&key.serialize_uncompressed()[1..])[12..]))
}
