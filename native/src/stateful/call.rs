//! A call of a stateful precompile: gas, state, logs, and how it ends.

use std::sync::Arc;

use revm::{
    context_interface::{
        ContextTr, JournalTr, context::ContextError, journaled_state::account::JournaledAccountTr,
    },
    interpreter::{CallInputs, Gas, InstructionResult, InterpreterResult},
    primitives::{Address, B256, Bytes, Log, U256},
};

use super::{Stateful, TransactionPredicates, contracts, is_enabled, peek, role_slot};
use crate::{
    coreth::DelegatedCalls, environment::EvmContext, halt::WRITE_PROTECTION, reader::ReaderError,
};

/// Why a call failed. All but `Reverted` use up its gas by themselves.
pub(super) enum Failure {
    OutOfGas,
    /// The reference's words.
    Words(String),
    Reader(ReaderError),
}

impl From<String> for Failure {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

impl From<ReaderError> for Failure {
    fn from(error: ReaderError) -> Self {
        Self::Reader(error)
    }
}

/// A call that runs.
pub(super) struct Call<'a> {
    context: &'a mut EvmContext,
    pub(super) stateful: &'a Stateful,
    pub(super) predicates: Option<Arc<TransactionPredicates>>,
    /// The precompile.
    pub(super) address: Address,
    pub(super) caller: Address,
    is_static: bool,
    gas: u64,
}

impl Call<'_> {
    pub(super) fn charge(&mut self, gas: u64) -> Result<(), Failure> {
        self.gas = self.gas.checked_sub(gas).ok_or(Failure::OutOfGas)?;
        Ok(())
    }

    pub(super) fn number(&self) -> U256 {
        self.context.block.number
    }

    pub(super) fn read(&mut self, slot: U256) -> Result<U256, Failure> {
        Ok(peek(self.context, self.address, slot)?)
    }

    pub(super) fn write(&mut self, slot: U256, value: U256) -> Result<(), Failure> {
        let journal = self.context.journal_mut();
        journal.sstore(self.address, slot, value)?;
        journal.touch_account(self.address);
        Ok(())
    }

    /// Return an account's role on the precompile's allow list.
    pub(super) fn role(&mut self, account: Address) -> Result<U256, Failure> {
        self.read(role_slot(account))
    }

    /// Add to an account's balance, which wraps; the account becomes no warmer.
    pub(super) fn credit(&mut self, account: Address, wei: U256) -> Result<(), Failure> {
        let journal = self.context.journal_mut();
        let mut loaded = journal.load_account_mut(account)?;
        let balance = loaded.balance().wrapping_add(wei);
        loaded.set_balance(balance);
        loaded.touch();
        if loaded.is_cold {
            loaded.unsafe_mark_cold();
        }
        Ok(())
    }

    pub(super) fn log(&mut self, topics: Vec<B256>, data: Vec<u8>) {
        let log = Log::new_unchecked(self.address, topics, data.into());
        self.context.journal_mut().log(log);
    }

    /// Refuse a static call.
    pub(super) fn verify_writable(&self) -> Result<(), Failure> {
        if self.is_static { Err(Failure::Words(WRITE_PROTECTION.into())) } else { Ok(()) }
    }

    /// Refuse a caller that the precompile's allow list does not have.
    pub(super) fn verify_enabled(&mut self, what: &str) -> Result<(), Failure> {
        let caller = self.caller;
        if is_enabled(self.role(caller)?) {
            return Ok(());
        }
        Err(Failure::Words(format!("non-enabled cannot {what}: {caller}")))
    }
}

/// Run a call of a stateful precompile with some gas.
pub(crate) fn run(
    context: &mut EvmContext,
    stateful: &Stateful,
    inputs: &CallInputs,
    gas: u64,
) -> InterpreterResult {
    let runs_delegated = context
        .chain
        .coreth
        .is_some_and(|features| features.delegated_calls() == DelegatedCalls::Run);
    if inputs.target_address != inputs.bytecode_address && !runs_delegated {
        // DELEGATECALL and CALLCODE: reverted, without the gas.
        return ended(InstructionResult::Revert, Bytes::new(), gas, 0);
    }
    let input = inputs.input.bytes(context);
    let predicates = context.chain.predicates.clone();
    let mut call = Call {
        context,
        stateful,
        predicates,
        address: inputs.bytecode_address,
        caller: inputs.caller,
        is_static: inputs.is_static,
        gas,
    };
    let outcome = contracts::run(&mut call, &input);
    let left = call.gas;
    match outcome {
        Ok(output) => ended(InstructionResult::Return, output.into(), gas, left),
        Err(Failure::OutOfGas) => ended(InstructionResult::PrecompileOOG, Bytes::new(), gas, 0),
        Err(Failure::Words(words)) => {
            if context.chain.notes.is_some() || context.journaled_state.depth == 1 {
                context.chain.failure = Some(words.into());
            }
            ended(InstructionResult::PrecompileError, Bytes::new(), gas, 0)
        }
        Err(Failure::Reader(error)) => {
            context.error = Err(ContextError::Db(error));
            ended(InstructionResult::FatalExternalError, Bytes::new(), gas, 0)
        }
    }
}

fn ended(result: InstructionResult, output: Bytes, limit: u64, left: u64) -> InterpreterResult {
    let mut gas = Gas::new(limit);
    gas.set_remaining(left);
    InterpreterResult { result, output, gas }
}
