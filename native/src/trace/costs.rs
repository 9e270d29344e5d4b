//! The costs of instructions that ran out of gas. revm reports only the failure, while geth
//! computes the whole price first and shows it (tracing.md 3).

use revm::{
    Database,
    bytecode::opcode::*,
    context_interface::{
        Cfg,
        cfg::GasParams,
        context::SStoreResult,
        journaled_state::entry::{JournalEntry, SelfdestructionRevertStatus},
    },
    interpreter::instructions::GasTable,
    primitives::{Address, Bytes, U256, hardfork::SpecId},
    state::{Account, AccountInfo},
};

use super::{
    notes::{KECCAK256_GAS, address},
    step::Step,
};
use crate::{coreth, environment::EvmContext, metered, reader::ReaderError};

/// Return whether the cost of an instruction depends on the stack.
pub(super) fn is_dynamic(opcode: u8) -> bool {
    matches!(
        opcode,
        EXP | KECCAK256
            | BALANCE
            | CALLDATACOPY
            | CODECOPY
            | EXTCODESIZE..=RETURNDATACOPY
            | EXTCODEHASH
            | MLOAD..=SSTORE
            | MCOPY
            | LOG0..=LOG4
            | CREATE..=CREATE2
            | STATICCALL
            | REVERT
            | SELFDESTRUCT
    )
}

/// Return the constant part of an instruction's cost, divided as in geth; revm's constant part
/// includes some costs that depend on the stack.
pub(super) fn base(opcode: u8, gas_table: &GasTable, context: &EvmContext) -> u64 {
    match opcode {
        EXP | LOG0..=LOG4 => 0,
        KECCAK256 => KECCAK256_GAS,
        SLOAD if context.cfg.spec.is_enabled_in(SpecId::BERLIN) => 0,
        CREATE | CREATE2 => context.cfg.gas_params().create_cost(),
        _ => u64::from(gas_table[usize::from(opcode)]),
    }
}

/// Return the whole cost of an instruction that ran out of gas.
pub(super) fn wanted(step: &Step, gas_table: &GasTable, context: &mut EvmContext) -> u64 {
    let base = base(step.opcode, gas_table, context);
    if base > step.gas || !is_dynamic(step.opcode) {
        return base;
    }
    let params = context.cfg.gas_params().clone();
    let fixed = match step.opcode {
        KECCAK256 => KECCAK256_GAS,
        opcode => u64::from(gas_table[usize::from(opcode)]),
    };
    fixed.saturating_add(memory(step)).saturating_add(variable(step, &params, context))
}

fn length(word: U256) -> usize {
    usize::try_from(word).unwrap_or(usize::MAX)
}

/// Return the cost of the memory expansion.
fn memory(step: &Step) -> u64 {
    let area = |offset: usize, size: usize| (step.item(offset), length(step.item(size)));
    let areas = match step.opcode {
        MLOAD | MSTORE => [(step.item(0), 32), (U256::ZERO, 0)],
        MSTORE8 => [(step.item(0), 1), (U256::ZERO, 0)],
        KECCAK256 | LOG0..=LOG4 | RETURN | REVERT => [area(0, 1), (U256::ZERO, 0)],
        CALLDATACOPY | CODECOPY | RETURNDATACOPY => [area(0, 2), (U256::ZERO, 0)],
        MCOPY => [area(0, 2), area(1, 2)],
        EXTCODECOPY => [area(1, 3), (U256::ZERO, 0)],
        CREATE | CREATE2 => [area(1, 2), (U256::ZERO, 0)],
        CALL | CALLCODE => [area(3, 4), area(5, 6)],
        DELEGATECALL | STATICCALL => [area(2, 3), area(4, 5)],
        _ => return 0,
    };
    let end = |(offset, size): (U256, usize)| match size {
        0 => 0,
        _ => length(offset) as u128 + size as u128,
    };
    metered::growth(step.memory, areas.map(end).into_iter().max().unwrap_or(0))
}

fn variable(step: &Step, params: &GasParams, context: &mut EvmContext) -> u64 {
    let size = |depth| length(step.item(depth));
    match step.opcode {
        EXP => params.exp_cost(step.item(1)),
        KECCAK256 => params.keccak256_cost(size(1)),
        CALLDATACOPY | CODECOPY | RETURNDATACOPY => params.copy_cost(size(2)),
        MCOPY => params.mcopy_cost(size(2)),
        EXTCODECOPY => params.extcodecopy(size(3)) + cold(step, context, address(step.item(0))),
        BALANCE | EXTCODESIZE | EXTCODEHASH => cold(step, context, address(step.item(0))),
        LOG0..=LOG4 => params.log_cost(step.opcode - LOG0, size(1) as u64),
        CREATE => params.create_cost() + init_code(size(2), params, context),
        CREATE2 => params.create2_cost(size(2)) + init_code(size(2), params, context),
        SLOAD if is_slot_cold(step, context) => params.cold_storage_additional_cost(),
        SSTORE => write(step, params, context),
        CALL | CALLCODE | DELEGATECALL | STATICCALL => call(step, params, context),
        SELFDESTRUCT => destroy(step, params, context),
        _ => 0,
    }
}

fn init_code(length: usize, params: &GasParams, context: &EvmContext) -> u64 {
    if context.cfg.spec.is_enabled_in(SpecId::SHANGHAI) { params.initcode_cost(length) } else { 0 }
}

/// The requested gas is part of the cost, because none is passed on if not even the call itself can
/// be paid.
fn call(step: &Step, params: &GasParams, context: &mut EvmContext) -> u64 {
    let callee = address(step.item(1));
    let value = if matches!(step.opcode, CALL | CALLCODE) { step.item(2) } else { U256::ZERO };
    let mut cost = u64::try_from(step.item(0)).unwrap_or(u64::MAX);
    cost = cost.saturating_add(cold(step, context, callee));
    if !value.is_zero() {
        cost = cost.saturating_add(params.transfer_value_cost());
    }
    let info = info(callee, context);
    if step.opcode == CALL
        && info.is_empty()
        && !coreth::is_kept(context, callee).unwrap_or_default()
    {
        let is_spurious = context.cfg.spec.is_enabled_in(SpecId::SPURIOUS_DRAGON);
        cost = cost.saturating_add(params.new_account_cost(is_spurious, !value.is_zero()));
    }
    if let Some(delegate) = info.code.and_then(|code| code.eip7702_address()) {
        let access = params.warm_storage_read_cost() + cold(step, context, delegate);
        cost = cost.saturating_add(access);
    }
    cost
}

/// Return an account's current values, which the step may not have loaded.
fn info(address: Address, context: &mut EvmContext) -> AccountInfo {
    if let Some(account) = context.journaled_state.state.get(&address) {
        return account.info.clone();
    }
    let database = &mut context.journaled_state.database;
    let mut info = database.basic(address).ok().flatten().unwrap_or_default();
    info.code = database.code_by_hash(info.code_hash).ok();
    info
}

/// Return the code of an account, which the step may not have loaded.
pub(super) fn code(address: Address, context: &mut EvmContext) -> Result<Bytes, ReaderError> {
    let info = info(address, context);
    let code = match info.code {
        _ if info.is_empty_code_hash() => return Ok(Bytes::new()),
        Some(code) => code,
        None => context.journaled_state.database.code_by_hash(info.code_hash)?,
    };
    Ok(code.original_bytes())
}

/// Return the cost of writing a slot, including the surcharge for a cold slot.
fn write(step: &Step, params: &GasParams, context: &mut EvmContext) -> u64 {
    let is_cold = is_slot_cold(step, context);
    let values = change(step, context);
    let is_istanbul = context.cfg.spec.is_enabled_in(SpecId::ISTANBUL);
    params.sstore_static_gas() + params.sstore_dynamic_gas(is_istanbul, &values, is_cold)
}

/// Return the original, current and new value of the slot that SSTORE was about to change.
fn change(step: &Step, context: &mut EvmContext) -> SStoreResult {
    let replaced = since(step, context).iter().find_map(|entry| match entry {
        JournalEntry::StorageChanged { had_value, .. } => Some(*had_value),
        _ => None,
    });
    let key = step.item(0);
    let (present_key, original_key) = match context.chain.coreth {
        None => (key, Some(key)),
        Some(features) => (coreth::stored(key), features.committed_key(key)),
    };
    let (mut original_value, present) = slot(present_key, step, context);
    if original_key != Some(present_key) {
        original_value = original_key.map_or(U256::ZERO, |key| slot(key, step, context).0);
    }
    let present_value = replaced.unwrap_or(present);
    SStoreResult { original_value, present_value, new_value: step.item(1) }
}

/// Return the original and the current value of a slot of the running contract.
fn slot(key: U256, step: &Step, context: &mut EvmContext) -> (U256, U256) {
    let account = context.journaled_state.state.get(&step.contract);
    if let Some(slot) = account.and_then(|account| account.storage.get(&key)) {
        return (slot.original_value, slot.present_value);
    }
    let database = &mut context.journaled_state.database;
    let stored = database.storage(step.contract, key).unwrap_or_default();
    (stored, stored)
}

/// Return the refund of an instruction that ran out of gas: geth adds it while it computes the
/// price.
pub(super) fn refund(step: &Step, context: &mut EvmContext) -> i64 {
    let params = context.cfg.gas_params().clone();
    match step.opcode {
        SSTORE => {
            let is_istanbul = context.cfg.spec.is_enabled_in(SpecId::ISTANBUL);
            params.sstore_refund(is_istanbul, &change(step, context))
        }
        SELFDESTRUCT if !was_destroyed(step, context) => params.selfdestruct_refund(),
        _ => 0,
    }
}

/// Return whether the contract had been destroyed before this step.
fn was_destroyed(step: &Step, context: &EvmContext) -> bool {
    let status = since(step, context).iter().find_map(|entry| match entry {
        JournalEntry::AccountDestroyed { destroyed_status, .. } => Some(*destroyed_status),
        _ => None,
    });
    let account = context.journaled_state.state.get(&step.contract);
    match status {
        Some(status) => status == SelfdestructionRevertStatus::RepeatedSelfdestruction,
        None => account.is_some_and(Account::is_selfdestructed),
    }
}

/// Return the cost of SELFDESTRUCT; revm has credited the beneficiary before it ran out of gas.
fn destroy(step: &Step, params: &GasParams, context: &mut EvmContext) -> u64 {
    let beneficiary = address(step.item(0));
    let moved = since(step, context).iter().find_map(|entry| match entry {
        JournalEntry::AccountDestroyed { had_balance, .. } => Some(*had_balance),
        JournalEntry::BalanceTransfer { balance, .. } => Some(*balance),
        _ => None,
    });
    let is_new = moved.is_some_and(|moved| {
        let account = context.journaled_state.state.get(&beneficiary);
        !moved.is_zero()
            && account.is_some_and(|account| {
                let info = &account.info;
                info.balance == moved && info.nonce == 0 && info.is_empty_code_hash()
            })
    });
    let is_new = is_new && !coreth::was_kept(context, beneficiary).unwrap_or_default();
    params.selfdestruct_cost(is_new, is_cold(step, context, beneficiary))
}

/// Return the journal entries of the step: what it changed before it failed, and what it made warm.
fn since<'a>(step: &Step, context: &'a EvmContext) -> &'a [JournalEntry] {
    context.journaled_state.journal.get(step.journal..).unwrap_or_default()
}

fn cold(step: &Step, context: &EvmContext, account: Address) -> u64 {
    if is_cold(step, context, account) {
        context.cfg.gas_params().cold_account_additional_cost()
    } else {
        0
    }
}

fn is_cold(step: &Step, context: &EvmContext, address: Address) -> bool {
    let journal = &context.journaled_state;
    let warmed = |entry: &JournalEntry| matches!(entry, JournalEntry::AccountWarmed { address: warmed } if *warmed == address);
    since(step, context).iter().any(warmed)
        || (journal.warm_addresses.is_cold(&address)
            && journal
                .state
                .get(&address)
                .is_none_or(|account| account.is_cold_transaction_id(journal.transaction_id)))
}

fn is_slot_cold(step: &Step, context: &EvmContext) -> bool {
    let journal = &context.journaled_state;
    let slot = step.item(0);
    let warmed = |entry: &JournalEntry| matches!(entry, JournalEntry::StorageWarmed { key, .. } if *key == slot);
    let account = journal.state.get(&step.contract);
    since(step, context).iter().any(warmed)
        || (!journal.warm_addresses.is_storage_warm(&step.contract, &slot)
            && account
                .and_then(|account| account.storage.get(&slot))
                .is_none_or(|slot| slot.is_cold_transaction_id(journal.transaction_id)))
}
