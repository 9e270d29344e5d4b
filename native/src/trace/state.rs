//! The state before a transaction of all accounts and slots that it touches (tracing.md 6).

use revm::{
    Database,
    context::TxEnv,
    context_interface::transaction::AuthorizationTr,
    primitives::{Address, Bytes, KECCAK_EMPTY, TxKind, U256},
    state::AccountInfo,
};

use super::notes::{Notes, TouchedSlots};
use crate::{
    environment::EvmContext,
    frames::RunError,
    limits::SIZE,
    overlay::{Changes, Overlay},
    reader::ReaderError,
};

/// Memory of an account without its code, and of a slot; there may be very many.
const ACCOUNT_BYTES: usize = 256;
const SLOT_BYTES: usize = 128;

/// An account before the transaction, with slots and code.
pub(crate) struct TouchedAccount {
    pub(crate) address: Address,
    pub(crate) before: Option<AccountInfo>,
    pub(crate) slots: Vec<(U256, U256)>,
    /// None without code; accounts with the same code share its bytes.
    pub(crate) code: Option<Bytes>,
}

/// The port's `TouchedState`.
pub(crate) struct TouchedState {
    pub(crate) accounts: Vec<TouchedAccount>,
    pub(crate) changes: Changes,
}

/// Note the accounts that a transaction touches regardless of its execution. `created` is the
/// address of the contract that it creates.
pub(super) fn note_touched(
    touched: &mut TouchedSlots,
    context: &mut EvmContext,
    tx: &TxEnv,
    created: Option<Address>,
) -> Result<(), ReaderError> {
    touched.account(tx.caller);
    touched.account(context.block.beneficiary);
    for authority in tx.authorization_list.iter().filter_map(AuthorizationTr::authority) {
        touched.account(authority);
    }
    if let Some(address) = created {
        touched.account(address);
    }
    if let TxKind::Call(to) = tx.kind {
        touched.account(to);
        let state = &mut context.journaled_state.database;
        if let Some(info) = state.basic(to)?
            && info.code_hash != KECCAK_EMPTY
            && let Some(delegate) = state.code_by_hash(info.code_hash)?.eip7702_address()
        {
            touched.account(delegate);
        }
    }
    Ok(())
}

/// Read the touched accounts and slots from the state before the transaction's changes. They count
/// as recorded, code once for each account that has it, because the answer repeats it.
pub(super) fn look_up(
    touched: TouchedSlots,
    state: &mut Overlay,
    notes: &mut Notes,
) -> Result<Vec<TouchedAccount>, RunError> {
    let mut accounts = Vec::with_capacity(touched.0.len());
    for (address, slots) in touched.0 {
        let before = state.basic(address)?;
        let code = match &before {
            Some(info) if info.code_hash != KECCAK_EMPTY => {
                Some(state.code_by_hash(info.code_hash)?.original_bytes())
            }
            _ => None,
        };
        let code_length = code.as_ref().map_or(0, |code| code.len());
        if !notes.take(ACCOUNT_BYTES + SLOT_BYTES * slots.len() + code_length) {
            return Err(RunError::Custom(SIZE.into()));
        }
        let mut values = Vec::with_capacity(slots.len());
        for slot in slots {
            let value = if before.is_some() { state.storage(address, slot)? } else { U256::ZERO };
            values.push((slot, value));
        }
        accounts.push(TouchedAccount { address, before, slots: values, code });
    }
    Ok(accounts)
}
