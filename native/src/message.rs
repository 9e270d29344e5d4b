//! The port's call as revm's transaction, and the checks before it runs.

use alloy_eips::eip7702::SignedAuthorization;
use alloy_rlp::Decodable;
use pyo3::prelude::*;
use revm::{
    Database,
    context::{TxEnv, either::Either},
    context_interface::{
        ContextTr,
        result::InvalidTransaction,
        transaction::{AccessList, AccessListItem, TransactionType},
    },
    primitives::{Address, Bytes, TxKind, U256},
};

use crate::{
    call::CallFailure,
    convert::{Addr, Blob, Uint, Word},
    environment::EvmContext,
    rejection,
};

/// Gas of the precompile that recovers a key.
const ECRECOVER_GAS: u64 = 3_000;

/// Gas equivalent of the work for an address or slot of an access list.
const LISTED_GAS: u64 = 100;

/// The port's `CallMessage`, a named tuple, with its fields in order.
#[derive(FromPyObject)]
pub(crate) struct MessageTuple(
    Addr,
    Option<Addr>,
    u64,
    u128,
    Uint,
    Blob,
    Vec<(Addr, Vec<Word>)>,
    Vec<Blob>,
    Option<u128>,
    Vec<Word>,
    Option<u64>,
);

/// A call: revm's transaction without the chain ID.
pub(crate) struct Message {
    tx: TxEnv,
    authorizations: Vec<Blob>,
    has_nonce: bool,
}

impl<'py> FromPyObject<'_, 'py> for Message {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let MessageTuple(
            sender,
            to,
            gas,
            gas_price,
            value,
            data,
            access_list,
            authorizations,
            max_priority_fee,
            blob_hashes,
            nonce,
        ) = object.extract()?;
        let item = |(address, slots): (Addr, Vec<Word>)| AccessListItem {
            address: address.0,
            storage_keys: slots.into_iter().map(|slot| slot.0).collect(),
        };
        let tx = TxEnv {
            tx_type: 0,
            caller: sender.0,
            gas_limit: gas,
            gas_price,
            kind: to.map_or(TxKind::Create, |to| TxKind::Call(to.0)),
            value: value.0,
            data: data.0,
            nonce: nonce.unwrap_or_default(),
            chain_id: None,
            access_list: AccessList(access_list.into_iter().map(item).collect()),
            gas_priority_fee: max_priority_fee,
            blob_hashes: blob_hashes.into_iter().map(|hash| hash.0).collect(),
            max_fee_per_blob_gas: 0,
            authorization_list: Vec::new(),
        };
        Ok(Self { tx, authorizations, has_nonce: nonce.is_some() })
    }
}

impl Message {
    /// Return a call without a price, a nonce or an access list.
    pub(crate) fn plain(from: Address, to: Address, gas: u64, value: U256, data: Bytes) -> Self {
        let tx = TxEnv {
            caller: from,
            gas_limit: gas,
            kind: TxKind::Call(to),
            value,
            data,
            chain_id: None,
            ..TxEnv::default()
        };
        Self { tx, authorizations: Vec::new(), has_nonce: false }
    }

    /// Return whether the message has a nonce.
    pub(crate) fn has_nonce(&self) -> bool {
        self.has_nonce
    }

    /// Return the transaction on a chain; reject malformed authorizations and a tip above the fee
    /// cap.
    pub(crate) fn into_transaction(self, chain_id: u64) -> Result<TxEnv, CallFailure> {
        let Self { mut tx, authorizations, .. } = self;
        for blob in &authorizations {
            let decoded = SignedAuthorization::decode(&mut blob.0.as_ref()).map_err(|error| {
                CallFailure::Rejected(format!("invalid authorization: {error}"))
            })?;
            tx.authorization_list.push(Either::Left(decoded));
        }
        tx.tx_type = kind(&tx).into();
        tx.chain_id = Some(chain_id);
        if tx.gas_priority_fee.is_some_and(|tip| tip > tx.gas_price) {
            return Err(CallFailure::Rejected(rejection::tip_above_cap(&tx)));
        }
        // The price is the effective one; the tip is whatever exceeds the base fee.
        tx.gas_priority_fee = Some(tx.gas_price);
        Ok(tx)
    }
}

fn kind(tx: &TxEnv) -> TransactionType {
    if !tx.authorization_list.is_empty() {
        TransactionType::Eip7702
    } else if !tx.blob_hashes.is_empty() {
        TransactionType::Eip4844
    } else if tx.gas_priority_fee.is_some() {
        TransactionType::Eip1559
    } else if !tx.access_list.is_empty() {
        TransactionType::Eip2930
    } else {
        TransactionType::Legacy
    }
}

/// Return the work for a call before its first instruction, as gas of work that takes as long: each
/// authorization is recovered like with ecrecover, each item of the access list is warmed. The
/// intrinsic gas of a transaction's bytes is not used, because it pays for block space and not for
/// time.
pub(crate) fn preparation(tx: &TxEnv) -> u64 {
    let listed: usize = tx.access_list.iter().map(|item| 1 + item.storage_keys.len()).sum();
    let hashes = tx.blob_hashes.len();
    let authorizations = tx.authorization_list.len() as u64;
    authorizations * ECRECOVER_GAS + (listed + hashes) as u64 * LISTED_GAS
}

/// Reject a call that would fail with any gas limit; check in geth's order: the price, then the
/// recipient.
pub(crate) fn check_form(context: &EvmContext, tx: &TxEnv) -> Result<(), CallFailure> {
    if !context.cfg.disable_base_fee && tx.gas_price < u128::from(context.block.basefee) {
        return Err(refused(&InvalidTransaction::GasPriceLessThanBasefee, tx, context));
    }
    if tx.authorization_list.is_empty() || matches!(tx.kind, TxKind::Call(_)) {
        return Ok(());
    }
    Err(CallFailure::Rejected(format!(
        "EIP-7702 transaction cannot be used to create contract (sender {})",
        tx.caller
    )))
}

/// Reject a sender that cannot pay for value and gas.
pub(crate) fn check_funds(context: &mut EvmContext, tx: &TxEnv) -> Result<(), CallFailure> {
    let balance = context.db_mut().basic(tx.caller)?.unwrap_or_default().balance;
    let cost = U256::from(tx.gas_limit)
        .checked_mul(U256::from(tx.gas_price))
        .and_then(|fee| fee.checked_add(tx.value))
        .ok_or_else(|| refused(&InvalidTransaction::OverflowPaymentInTransaction, tx, context))?;
    if balance < cost {
        let words = rejection::insufficient_funds(tx, &balance, &cost);
        return Err(CallFailure::Rejected(words));
    }
    Ok(())
}

/// Return revm's error as geth's message; a too low gas limit is a separate case.
pub(crate) fn refused(error: &InvalidTransaction, tx: &TxEnv, context: &EvmContext) -> CallFailure {
    let words = rejection::refused(error, tx, &context.cfg, context.block.basefee).reason;
    match error {
        InvalidTransaction::CallGasCostMoreThanGasLimit { .. }
        | InvalidTransaction::GasFloorMoreThanGasLimit { .. } => CallFailure::GasTooLow(words),
        _ => CallFailure::Rejected(words),
    }
}
