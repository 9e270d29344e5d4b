//! Transactions in revm's form, decoded from their envelopes.

use alloy_consensus::{EthereumTxEnvelope, Transaction, TxEip4844, Typed2718};
use alloy_eips::eip2718::Decodable2718;
use pyo3::{prelude::*, pybacked::PyBackedBytes};
use revm::{
    context::{TxEnv, either::Either},
    primitives::{Address, Bytes, U256, keccak256},
};

use crate::convert::Addr;

/// The port's `Transaction`: the envelope, and the sender that is recovered from its signature or
/// named in it.
#[derive(FromPyObject)]
pub(crate) struct SignedTransaction {
    pub(crate) raw: PyBackedBytes,
    sender: Addr,
}

/// A transaction in revm's form.
pub(crate) struct Decoded {
    pub(crate) tx: TxEnv,
    /// Whether it is unsigned: r and s of its signature are the sender's address.
    pub(crate) impersonated: bool,
}

impl SignedTransaction {
    /// Return the transaction's hash.
    pub(crate) fn hash(&self) -> Bytes {
        keccak256(&self.raw).into()
    }

    /// Decode the envelope.
    ///
    /// A fee of 2^128 wei or more cannot be decoded; no account can pay it.
    pub(crate) fn decode(&self) -> Result<Decoded, String> {
        let sender = self.sender.0;
        let name = U256::from_be_slice(sender.as_slice());
        EthereumTxEnvelope::<TxEip4844>::decode_2718_exact(&self.raw)
            .map(|envelope| Decoded {
                tx: environment(&envelope, sender),
                impersonated: envelope.signature().r() == name && envelope.signature().s() == name,
            })
            .map_err(|error| error.to_string())
    }
}

fn environment(tx: &impl Transaction, caller: Address) -> TxEnv {
    TxEnv {
        tx_type: Typed2718::ty(tx),
        caller,
        gas_limit: tx.gas_limit(),
        gas_price: tx.max_fee_per_gas(),
        kind: tx.kind(),
        value: tx.value(),
        data: tx.input().clone(),
        nonce: tx.nonce(),
        chain_id: tx.chain_id(),
        access_list: tx.access_list().cloned().unwrap_or_default(),
        gas_priority_fee: tx.max_priority_fee_per_gas(),
        blob_hashes: tx.blob_versioned_hashes().unwrap_or_default().to_vec(),
        max_fee_per_blob_gas: tx.max_fee_per_blob_gas().unwrap_or_default(),
        authorization_list: tx
            .authorization_list()
            .unwrap_or_default()
            .iter()
            .cloned()
            .map(Either::Left)
            .collect(),
    }
}
