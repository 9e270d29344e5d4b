//! Stateful precompiles of Avalanche's EVM chains: allow lists, native minter, managers, warp
//! (etna.md 12.5). The port's `StatefulPrecompiles` says which of them are in force in a block.
//!
//! `call` runs a call of one of them; here are their values, the creations that the deployer allow
//! list forbids, and the gas of warp messages in access lists.

mod abi;
mod call;
mod contracts;
mod fees;

use std::sync::Arc;

use pyo3::prelude::*;
use revm::{
    Database,
    context_interface::{
        Cfg, ContextTr, JournalTr, cfg::gas::InitialAndFloorGas,
        journaled_state::account::JournaledAccountTr, result::InvalidTransaction,
    },
    handler::{FrameResult, validation},
    interpreter::{
        CreateInputs, CreateOutcome, FrameInput, Gas, InstructionResult, InterpreterResult,
        interpreter_action::FrameInit,
    },
    primitives::{Address, Bytes, U256, address, constants::CALL_STACK_LIMIT},
};

pub(crate) use call::run;

use crate::{
    convert::{Blob, Word},
    environment::EvmContext,
    frames::{RunError, StartError},
    reader::ReaderError,
};

pub(crate) const DEPLOYER_ALLOW_LIST: Address =
    address!("0x0200000000000000000000000000000000000000");
const NATIVE_MINTER: Address = address!("0x0200000000000000000000000000000000000001");
const TRANSACTION_ALLOW_LIST: Address = address!("0x0200000000000000000000000000000000000002");
const FEE_MANAGER: Address = address!("0x0200000000000000000000000000000000000003");
const REWARD_MANAGER: Address = address!("0x0200000000000000000000000000000000000004");
const WARP: Address = address!("0x0200000000000000000000000000000000000005");

/// The port's `StatefulPrecompiles`.
#[derive(FromPyObject)]
pub(crate) struct Stateful {
    deployer_allow_list: bool,
    native_minter: bool,
    transaction_allow_list: bool,
    fee_manager: bool,
    reward_manager: bool,
    warp: Option<WarpRules>,
}

/// The port's `WarpRules`.
#[derive(FromPyObject)]
struct WarpRules {
    network_id: u32,
    blockchain_id: Word,
    gas: WarpGas,
    predicates: Vec<TransactionPredicates>,
}

/// The port's `WarpGas`.
#[derive(FromPyObject)]
struct WarpGas {
    blockchain_id: u64,
    verified: u64,
    chunk: u64,
    send: u64,
    sent_byte: u64,
}

/// The port's `TransactionPredicates`.
#[derive(Clone, FromPyObject)]
pub(crate) struct TransactionPredicates {
    transaction: Blob,
    gas: i64,
    refusal: Option<String>,
    items: Vec<WarpPredicate>,
}

/// The port's `WarpPredicate`.
#[derive(Clone, FromPyObject)]
struct WarpPredicate {
    chunks: u64,
    valid: bool,
    message: Option<Blob>,
    block_hash: Option<Blob>,
}

impl Stateful {
    /// Return whether any stateful precompile is in force.
    pub(crate) fn is_any(&self) -> bool {
        self.deployer_allow_list
            || self.native_minter
            || self.transaction_allow_list
            || self.fee_manager
            || self.reward_manager
            || self.warp.is_some()
    }

    /// Return whether a stateful precompile is in force at an address.
    pub(crate) fn is_at(&self, address: &Address) -> bool {
        match *address {
            DEPLOYER_ALLOW_LIST => self.deployer_allow_list,
            NATIVE_MINTER => self.native_minter,
            TRANSACTION_ALLOW_LIST => self.transaction_allow_list,
            FEE_MANAGER => self.fee_manager,
            REWARD_MANAGER => self.reward_manager,
            WARP => self.warp.is_some(),
            _ => false,
        }
    }

    /// Return the warp messages of a transaction, if it has any; its hash is only computed if some
    /// transaction has them.
    pub(crate) fn predicates_of(
        &self,
        hash: impl FnOnce() -> Bytes,
    ) -> Option<Arc<TransactionPredicates>> {
        let known = self.warp.as_ref().map_or(&[][..], |warp| &warp.predicates);
        if known.is_empty() {
            return None;
        }
        let hash = hash();
        known.iter().find(|one| one.transaction.0 == hash).map(|one| Arc::new(one.clone()))
    }
}

/// Whether a role allows what an allow list protects.
fn is_enabled(role: U256) -> bool {
    (1..=3).any(|enabled| role == U256::from(enabled))
}

/// Return the number in a slot, without making account and slot warm.
fn peek(context: &mut EvmContext, address: Address, slot: U256) -> Result<U256, ReaderError> {
    let journal = &mut context.journaled_state;
    let written = journal.inner.state.get(&address).and_then(|there| there.storage.get(&slot));
    match written {
        Some(slot) => Ok(slot.present_value),
        None => journal.database.storage(address, slot),
    }
}

fn role_slot(account: Address) -> U256 {
    account.into_word().into()
}

/// Return why the context's transaction cannot be in a block: its sender is not on the transaction
/// allow list, or its warp messages cannot be read.
pub(crate) fn refusal(
    context: &mut EvmContext,
    sender: Address,
) -> Result<Option<String>, ReaderError> {
    if context.chain.stateful.as_ref().is_some_and(|stateful| stateful.transaction_allow_list)
        && !is_enabled(peek(context, TRANSACTION_ALLOW_LIST, role_slot(sender))?)
    {
        return Ok(Some(format!(
            "cannot issue transaction from non-allow listed address: {sender}"
        )));
    }
    Ok(predicates_refusal(context))
}

/// Return why the warp messages of the context's transaction make it invalid.
pub(crate) fn predicates_refusal(context: &EvmContext) -> Option<String> {
    context.chain.predicates.as_ref().and_then(|predicates| predicates.refusal.clone())
}

/// Return the gas of the context's transaction before its execution, with that of its warp messages.
pub(crate) fn initial_gas(context: &mut EvmContext) -> Result<InitialAndFloorGas, RunError> {
    let limit = context.tx.gas_limit;
    let extra = context.chain.predicates.as_ref().map_or(0, |predicates| predicates.gas);
    if extra != 0 {
        // The limit is compared with the whole below.
        context.tx.gas_limit = u64::MAX;
    }
    let gas = validation::validate_initial_tx_gas_with_gas_params(
        &context.tx,
        context.cfg.spec,
        context.cfg.gas_params(),
        context.cfg.is_eip7623_disabled(),
        context.cfg.is_amsterdam_eip8037_enabled(),
        context.cfg.tx_gas_limit_cap(),
        None,
    );
    context.tx.gas_limit = limit;
    let mut gas = gas?;
    if extra == 0 {
        return Ok(gas);
    }
    gas.initial_regular_gas = gas.initial_regular_gas.saturating_add_signed(extra);
    if gas.initial_regular_gas > limit {
        let initial_gas = gas.initial_regular_gas;
        let error =
            InvalidTransaction::CallGasCostMoreThanGasLimit { gas_limit: limit, initial_gas };
        return Err(error.into());
    }
    if gas.floor_gas > limit {
        let gas_floor = gas.floor_gas;
        let error = InvalidTransaction::GasFloorMoreThanGasLimit { gas_limit: limit, gas_floor };
        return Err(error.into());
    }
    Ok(gas)
}

/// Return the failure of a creation whose origin the deployer allow list does not have. The
/// creator's nonce rises, and nothing else happens.
pub(crate) fn denied(
    context: &mut EvmContext,
    frame: &FrameInit,
) -> Result<Option<FrameResult>, StartError> {
    let FrameInput::Create(inputs) = &frame.frame_input else { return Ok(None) };
    let is_listed = |stateful: &Arc<Stateful>| stateful.deployer_allow_list;
    if !context.chain.stateful.as_ref().is_some_and(is_listed)
        || frame.depth > CALL_STACK_LIMIT as usize
    {
        return Ok(None);
    }
    let origin = context.tx.caller;
    if is_enabled(peek(context, DEPLOYER_ALLOW_LIST, role_slot(origin)).map_err(StartError::Db)?) {
        return Ok(None);
    }
    let journal = context.journal_mut();
    let mut creator = journal.load_account_mut(inputs.caller())?;
    let nonce = creator.nonce();
    if *creator.balance() < inputs.value() || nonce == u64::MAX {
        return Ok(None);
    }
    creator.bump_nonce();
    let created = inputs.created_address(nonce);
    // The address is warm from here on, as for every creation.
    journal.load_account(created)?;
    if context.chain.notes.is_some() || context.journaled_state.depth == 0 {
        let words = format!("tx.origin {origin} is not authorized to deploy a contract");
        context.chain.failure = Some(words.into());
    }
    Ok(Some(without_gas(inputs)))
}

fn without_gas(inputs: &CreateInputs) -> FrameResult {
    FrameResult::Create(CreateOutcome {
        result: InterpreterResult {
            result: InstructionResult::PrecompileError,
            output: Bytes::new(),
            gas: Gas::new_spent_with_reservoir(inputs.gas_limit(), inputs.reservoir()),
        },
        address: None,
        charged_create_state_gas: inputs.charged_create_state_gas(),
    })
}
