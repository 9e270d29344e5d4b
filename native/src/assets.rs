//! The contracts of native assets that coreth had in some of its phases before Banff (coreth.md 8.1,
//! 15): one returns an account's balance of an asset, the other moves an amount and then calls the
//! recipient in the caller's name.
//!
//! The call that the second one makes is a frame of its own. It begins when the contract has moved
//! the amount (`begin`), and the frame loop in `frames` ends the contract with the result (`end`).
//! Balances are slots, whose keys EVM code cannot write.

use std::{mem, ops::Range};

use revm::{
    Database,
    context_interface::{
        ContextTr, Host, JournalTr,
        context::take_error,
        journaled_state::{JournalCheckpoint, account::JournaledAccountTr},
    },
    handler::{FrameData, FrameResult},
    interpreter::{
        CallInput, CallInputs, CallOutcome, CallScheme, CallValue, FrameInput, Gas,
        InstructionResult, InterpreterResult, interpreter_action::FrameInit,
    },
    primitives::{Address, Bytes, U256, address, constants::CALL_STACK_LIMIT},
};

use crate::{
    coreth::{
        self, DELEGATED, DelegatedCalls, MULTI_COIN_SLOT, NEW_ACCOUNT_GAS, asset_slot,
        without_warming,
    },
    environment::EvmContext,
    frames::{EvmOf, StartError},
    reader::ReaderError,
};

const ASSET_BALANCE: Address = address!("0100000000000000000000000000000000000001");
const ASSET_CALL: Address = address!("0100000000000000000000000000000000000002");

const BALANCE_GAS: u64 = 2_474;
const CALL_GAS: u64 = 20_000;

/// The input of the first contract: an account and an asset.
const BALANCE_INPUT: usize = 20 + 32;
/// The least input of the second: a recipient, an asset and an amount, before the data of the call.
const CALL_INPUT: usize = 20 + 32 + 32;

/// Geth's message for a caller that has too little of the asset.
const TOO_LITTLE: &str = "insufficient balance for transfer";

/// A call of the contract that moves assets, which waits for the call that it made.
pub(crate) struct AssetCall {
    /// How many frames run code around it.
    pub(crate) height: usize,
    start: JournalCheckpoint,
    gas_limit: u64,
    reservoir: u64,
    output: Range<usize>,
    charged_new_account_state_gas: bool,
}

/// What became of a frame that may be a call of the contract.
pub(crate) enum Begun {
    /// It is none.
    Other(FrameInit),
    Ended(FrameResult),
    /// The amount was moved; the call that the contract makes.
    Calls(FrameInit),
}

fn works_at(context: &EvmContext, contract: Address, inputs: &CallInputs) -> bool {
    inputs.bytecode_address == contract
        && context.chain.coreth.is_some_and(|features| features.assets_work())
}

/// Return whether a call is one of the contract that returns balances.
pub(crate) fn is_balance(context: &EvmContext, inputs: &CallInputs) -> bool {
    works_at(context, ASSET_BALANCE, inputs)
}

/// Run a call of the contract that returns balances with some gas.
pub(crate) fn balance(
    context: &mut EvmContext,
    inputs: &CallInputs,
    gas: u64,
) -> InterpreterResult {
    let Some(left) = gas.checked_sub(BALANCE_GAS) else {
        return ended(InstructionResult::PrecompileOOG, Bytes::new(), gas, 0);
    };
    let input = inputs.input.bytes(context);
    if input.len() != BALANCE_INPUT {
        return ended(InstructionResult::Revert, Bytes::new(), gas, left);
    }
    match held(context, Address::from_slice(&input[..20]), asset(&input)) {
        Ok(held) => {
            let output = held.to_be_bytes::<32>().to_vec();
            ended(InstructionResult::Return, output.into(), gas, left)
        }
        Err(error) => {
            context.error = Err(StartError::Db(error));
            ended(InstructionResult::FatalExternalError, Bytes::new(), gas, 0)
        }
    }
}

/// Return the slot of the asset in an input.
fn asset(input: &[u8]) -> U256 {
    asset_slot(U256::from_be_slice(&input[20..52]))
}

fn ended(result: InstructionResult, output: Bytes, limit: u64, left: u64) -> InterpreterResult {
    let mut gas = Gas::new(limit);
    gas.set_remaining(left);
    InterpreterResult { result, output, gas }
}

/// Return an account's balance of an asset, without making account and slot warm.
fn held(context: &mut EvmContext, account: Address, slot: U256) -> Result<U256, ReaderError> {
    if slot == MULTI_COIN_SLOT {
        return Ok(U256::ZERO);
    }
    let journal = &mut context.journaled_state;
    if let Some(there) = journal.inner.state.get(&account) {
        if let Some(slot) = there.storage.get(&slot) {
            return Ok(slot.present_value);
        }
        if there.is_created() {
            return Ok(U256::ZERO);
        }
    }
    journal.database.storage(account, slot)
}

fn write(
    context: &mut EvmContext,
    account: Address,
    slot: U256,
    value: U256,
) -> Result<(), StartError> {
    let written = without_warming(context, account, slot, |host| {
        host.sstore(account, slot, value).map(|load| ((), load.is_cold))
    });
    match written {
        Ok(()) => Ok(()),
        Err(_) => {
            take_error::<StartError, _>(&mut context.error)?;
            Err(StartError::Custom("a slot could not be written".into()))
        }
    }
}

/// Set an account's balance of an asset; the account is marked as one that held another asset.
fn set_balance(
    context: &mut EvmContext,
    account: Address,
    slot: U256,
    value: U256,
) -> Result<(), StartError> {
    write(context, account, MULTI_COIN_SLOT, U256::ONE)?;
    write(context, account, slot, value)?;
    context.journal_mut().touch_account(account);
    Ok(())
}

/// Begin a frame if it is a call of the contract that moves assets. `height` frames run code.
pub(crate) fn begin(
    context: &mut EvmContext,
    frame: FrameInit,
    height: usize,
) -> Result<Begun, StartError> {
    let FrameInput::Call(inputs) = &frame.frame_input else { return Ok(Begun::Other(frame)) };
    if !works_at(context, ASSET_CALL, inputs) || !can_start(context, &frame, inputs) {
        return Ok(Begun::Other(frame));
    }
    let is_delegated = inputs.target_address != inputs.bytecode_address;
    let delegated_calls = context.chain.coreth.map(|features| features.delegated_calls());
    if is_delegated && delegated_calls == Some(DelegatedCalls::Invalid) {
        return Err(StartError::Custom(DELEGATED.into()));
    }
    let start = context.journal_mut().checkpoint();
    // The frame that it calls is as deep as revm's frames are: each of those counts itself.
    context.journaled_state.inner.depth -= 1;
    if let CallValue::Transfer(value) = inputs.value {
        context.journal_mut().transfer_loaded(inputs.caller, inputs.target_address, value);
    }
    let call = AssetCall {
        height,
        start,
        gas_limit: inputs.gas_limit,
        reservoir: inputs.reservoir,
        output: inputs.return_memory_offset.clone(),
        charged_new_account_state_gas: inputs.charged_new_account_state_gas,
    };
    match move_amount(context, inputs)? {
        Ok(inner) => {
            context.chain.asset_calls.push(call);
            let frame_input = FrameInput::Call(Box::new(inner));
            Ok(Begun::Calls(FrameInit {
                frame_input,
                depth: frame.depth + 1,
                memory: frame.memory,
            }))
        }
        Err((result, left)) => {
            revert(context, call.start);
            Ok(Begun::Ended(call.result(result, Bytes::new(), left, 0)))
        }
    }
}

/// Return whether a call is not refused because of its depth or its value.
fn can_start(context: &EvmContext, frame: &FrameInit, inputs: &CallInputs) -> bool {
    let caller = context.journaled_state.inner.state.get(&inputs.caller);
    let funds = caller.map_or(U256::ZERO, |caller| caller.info.balance);
    let is_paid = !matches!(inputs.value, CallValue::Transfer(value) if value > funds);
    is_paid && frame.depth <= CALL_STACK_LIMIT as usize
}

/// Move the amount; return the call of the recipient, or how the contract fails and the remaining
/// gas.
fn move_amount(
    context: &mut EvmContext,
    inputs: &CallInputs,
) -> Result<Result<CallInputs, (InstructionResult, u64)>, StartError> {
    let Some(mut gas) = inputs.gas_limit.checked_sub(CALL_GAS) else {
        return Ok(Err((InstructionResult::PrecompileOOG, 0)));
    };
    spend(context, CALL_GAS)?;
    let input = inputs.input.bytes(context);
    if inputs.is_static || input.len() < CALL_INPUT {
        return Ok(Err((InstructionResult::Revert, gas)));
    }
    let (to, slot) = (Address::from_slice(&input[..20]), asset(&input));
    let amount = U256::from_be_slice(&input[52..CALL_INPUT]);
    let owned = held(context, inputs.caller, slot).map_err(StartError::Db)?;
    let Some(left) = owned.checked_sub(amount) else {
        if context.chain.notes.is_some() || context.journaled_state.depth == 0 {
            context.chain.failure = Some(TOO_LITTLE.into());
        }
        return Ok(Err((InstructionResult::PrecompileError, 0)));
    };
    let mut recipient = context.journal_mut().load_account_with_code_mut(to)?;
    if recipient.is_cold {
        recipient.unsafe_mark_cold();
    }
    let info = recipient.account().info.clone();
    let is_new = recipient.account().is_loaded_as_not_existing_not_touched();
    if is_new {
        let Some(rest) = gas.checked_sub(NEW_ACCOUNT_GAS) else {
            return Ok(Err((InstructionResult::PrecompileOOG, 0)));
        };
        gas = rest;
        spend(context, NEW_ACCOUNT_GAS)?;
    }
    context.journal_mut().touch_account(to);
    if !amount.is_zero() {
        set_balance(context, inputs.caller, slot, left)?;
        let before = held(context, to, slot).map_err(StartError::Db)?;
        set_balance(context, to, slot, before.wrapping_add(amount))?;
    }
    let is_delegate = inputs.scheme == CallScheme::DelegateCall;
    Ok(Ok(CallInputs {
        input: CallInput::Bytes(input.slice(CALL_INPUT..)),
        return_memory_offset: 0..0,
        gas_limit: gas,
        reservoir: inputs.reservoir,
        bytecode_address: to,
        known_bytecode: (info.code_hash, info.code.unwrap_or_default()),
        target_address: to,
        caller: if is_delegate { inputs.target_address } else { inputs.caller },
        value: CallValue::Transfer(U256::ZERO),
        scheme: CallScheme::Call,
        is_static: false,
        charged_new_account_state_gas: false,
    }))
}

fn spend(context: &mut EvmContext, gas: u64) -> Result<(), StartError> {
    match context.chain.meter.spend(gas) {
        Some(limit) => Err(StartError::Custom(limit.into())),
        None => Ok(()),
    }
}

fn revert(context: &mut EvmContext, start: JournalCheckpoint) {
    context.journaled_state.inner.depth += 1;
    context.journal_mut().checkpoint_revert(start);
}

impl AssetCall {
    fn result(
        self,
        result: InstructionResult,
        output: Bytes,
        left: u64,
        refund: i64,
    ) -> FrameResult {
        let mut gas = Gas::new_with_regular_gas_and_reservoir(self.gas_limit, self.reservoir);
        gas.set_remaining(left);
        gas.record_refund(refund);
        FrameResult::Call(CallOutcome {
            result: InterpreterResult { result, output, gas },
            memory_offset: self.output,
            was_precompile_called: true,
            precompile_call_logs: Vec::new(),
            charged_new_account_state_gas: self.charged_new_account_state_gas,
        })
    }
}

/// Return the result of a call of the contract from that of the call that it made: the same, but all
/// gas is lost if that neither succeeded nor reverted.
pub(crate) fn end(
    context: &mut EvmContext,
    call: AssetCall,
    mut inner: FrameResult,
) -> FrameResult {
    let inner = inner.interpreter_result_mut();
    let output = mem::take(&mut inner.output);
    let left = inner.gas.remaining();
    match inner.result {
        result if result.is_ok() => {
            call.result(InstructionResult::Return, output, left, inner.gas.refunded())
        }
        InstructionResult::Revert => {
            revert(context, call.start);
            call.result(InstructionResult::Revert, output, left, 0)
        }
        failure => {
            revert(context, call.start);
            call.result(failure, Bytes::new(), 0, 0)
        }
    }
}

/// Return the result of a call without value of an account that does not exist, where contracts can
/// move assets. Unlike revm the reference does not let the call bring the account into being, which
/// a later call of the contract in the same transaction would see.
pub(crate) fn absent(context: &EvmContext, frame: &FrameInit) -> Option<FrameResult> {
    let features = context.chain.coreth.filter(|features| features.assets_work())?;
    let FrameInput::Call(inputs) = &frame.frame_input else { return None };
    let to = inputs.target_address;
    let is_there = context
        .journaled_state
        .inner
        .state
        .get(&to)
        .is_none_or(|account| !account.is_loaded_as_not_existing_not_touched());
    if inputs.scheme != CallScheme::Call
        || !inputs.value.get().is_zero()
        || frame.depth > CALL_STACK_LIMIT as usize
        || is_there
        || coreth::precompiles(context.cfg.spec, features).contains(&to)
    {
        return None;
    }
    let gas = Gas::new_with_regular_gas_and_reservoir(inputs.gas_limit, inputs.reservoir);
    let result = InterpreterResult { result: InstructionResult::Stop, output: Bytes::new(), gas };
    Some(FrameResult::Call(CallOutcome::new(result, inputs.return_memory_offset.clone())))
}

/// Let a contract that was just created begin without other assets that were sent to its address
/// before.
pub(crate) fn empty_created<I, P>(evm: &mut EvmOf<I, P>) -> Result<(), StartError> {
    if evm.ctx.chain.coreth.is_none() {
        return Ok(());
    }
    let FrameData::Create(created) = &evm.frame_stack.get().data else { return Ok(()) };
    let address = created.created_address;
    let Some(account) = evm.ctx.journaled_state.inner.state.get(&address) else { return Ok(()) };
    let is_set = |(key, slot): (&U256, _)| -> Option<U256> {
        let slot: &revm::state::EvmStorageSlot = slot;
        (!slot.present_value.is_zero()).then_some(*key)
    };
    let slots: Vec<_> = account.storage.iter().filter_map(is_set).collect();
    slots.into_iter().try_for_each(|slot| write(&mut evm.ctx, address, slot, U256::ZERO))
}
