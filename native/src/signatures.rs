//! Recovery of signers: the senders of whole batches of transactions, in parallel.
//!
//! Threads are started for each batch, because a permanent pool would not survive a fork of the
//! process.

use std::sync::OnceLock;
use std::thread;

use revm::primitives::{Address, B256, keccak256};
use secp256k1::{
    Message,
    ecdsa::{RecoverableSignature, RecoveryId},
};

/// Minimum number of signatures per thread; starting a thread costs as much as one or two signatures.
const WORTH_A_THREAD: usize = 8;

/// Digest, r, s, and parity, which selects one of two points.
pub(crate) type Signature = (B256, B256, B256, u8);

/// Return the signer of each digest, or None if the signature is invalid.
pub(crate) fn recover_all(signatures: &[Signature]) -> Vec<Option<Address>> {
    let share = signatures.len().div_ceil(cores()).max(WORTH_A_THREAD);
    let mut senders = vec![None; signatures.len()];
    thread::scope(|scope| {
        let mut work = signatures.chunks(share).zip(senders.chunks_mut(share));
        let first = work.next();
        for (signatures, senders) in work {
            scope.spawn(|| recover_into(signatures, senders));
        }
        if let Some((signatures, senders)) = first {
            recover_into(signatures, senders);
        }
    });
    senders
}

/// Number of cores, queried once: it reads files, which takes as long as one signature.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, |cores| cores.get()))
}

fn recover_into(signatures: &[Signature], senders: &mut [Option<Address>]) {
    for (signature, sender) in signatures.iter().zip(senders) {
        *sender = recover(signature);
    }
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
