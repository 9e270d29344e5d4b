//! Who signed: senders of whole batches from their signatures, in parallel.
//!
//! Threads are made for each batch: a lasting pool would be dead in a process that was forked.

use std::thread;

use revm::primitives::{Address, B256, keccak256};
use secp256k1::{
    Message,
    ecdsa::{RecoverableSignature, RecoveryId},
};

/// A thread is made for so many signatures at least: it costs as much as one or two of them.
const WORTH_A_THREAD: usize = 16;

/// Digest, r, s, and which of two points is meant.
pub(crate) type Signature = (B256, B256, B256, u8);

/// The address that signed each digest; None where the signature is not one.
pub(crate) fn recover_all(signatures: &[Signature]) -> Vec<Option<Address>> {
    // Asking how many cores there are reads files, which takes as long as one signature.
    let cores = if signatures.len() <= WORTH_A_THREAD {
        1
    } else {
        thread::available_parallelism().map_or(1, |cores| cores.get())
    };
    let share = signatures.len().div_ceil(cores).max(WORTH_A_THREAD);
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
