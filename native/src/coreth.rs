//! The EVM of the C-Chain of avalanchego's networks, where it differs from Ethereum's (coreth.md 7,
//! 8.1, 15): storage keys lose a bit, no gas is refunded, the whole price goes to the coinbase,
//! there are further precompiles, and an account that holds another asset is not empty. `assets` has
//! the contracts that move other assets.

use std::sync::OnceLock;

use pyo3::{exceptions::PyValueError, prelude::*};
use revm::{
    bytecode::opcode,
    context::{CfgEnv, journal::JournalEntry},
    context_interface::{
        Block, Cfg, ContextTr, Host, JournalTr, Transaction,
        cfg::gas_params::GasId,
        context::{ContextError, SStoreResult, StateLoad},
        journaled_state::account::JournaledAccountTr,
    },
    interpreter::{
        Gas, Instruction, InstructionContext, InstructionExecResult, InstructionResult,
        InstructionTable, Interpreter, instruction_table,
        instructions::{contract, host},
        interpreter::EthInterpreter,
        interpreter_types::InputsTr,
    },
    precompile::{
        Precompile, PrecompileId, PrecompileOutput, PrecompileResult, PrecompileSpecId,
        Precompiles, secp256r1::P256VERIFY_OSAKA,
    },
    primitives::{Address, B256, Bytes, KECCAK_EMPTY, U256, address, hardfork::SpecId},
};

use crate::{environment::EvmContext, reader::ReaderError};

/// The blackhole and the two contracts of native assets. Where those do not work, all three revert.
const FORBIDDEN: [Address; 3] = [
    address!("0100000000000000000000000000000000000000"),
    address!("0100000000000000000000000000000000000001"),
    address!("0100000000000000000000000000000000000002"),
];

/// The lowest bit of a key's first byte; keys with it belong to other assets' balances.
const MARK: U256 = U256::from_limbs([0, 0, 0, 1 << 56]);

type Context<'a> = InstructionContext<'a, EvmContext, EthInterpreter>;

/// Return the key under which the value of a slot is stored.
pub(crate) fn stored(key: U256) -> U256 {
    key & !MARK
}

/// Why a transaction cannot be in a block between 2025-08-02 and Granite.
pub(crate) const DELEGATED: &str = "precompile cannot be called with DELEGATECALL or CALLCODE";

/// Return the key under which an account's balance of another asset is stored.
pub(crate) fn asset_slot(asset: U256) -> U256 {
    asset | MARK
}

/// Return whether a stored slot is the balance of another asset.
pub(crate) fn is_of_asset(slot: B256) -> bool {
    slot[0] & 1 == 1
}

/// The slot with an account's fifth field in the trie: 1 if the account ever held another asset. No
/// asset has this ID.
pub(crate) const MULTI_COIN_SLOT: U256 = U256::MAX;

/// The port's `CorethFeatures`.
#[derive(Clone, Copy, FromPyObject)]
pub(crate) struct Features {
    launch: bool,
    asset_contracts: AssetContracts,
    p256: bool,
    delegated_calls: DelegatedCalls,
}

/// What the two contracts of native assets do; the blackhole reverts wherever they exist.
#[derive(Clone, Copy, PartialEq)]
enum AssetContracts {
    None,
    Working,
    Reverting,
}

impl<'py> FromPyObject<'_, 'py> for AssetContracts {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<String>()?.as_str() {
            "none" => Ok(Self::None),
            "working" => Ok(Self::Working),
            "reverting" => Ok(Self::Reverting),
            other => Err(PyValueError::new_err(format!("asset contracts {other}"))),
        }
    }
}

/// What happens to a delegated call of a precompile of Avalanche.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum DelegatedCalls {
    Run,
    /// The transaction cannot be in a block.
    Invalid,
    /// The call fails and takes all of its gas.
    Fail,
}

impl<'py> FromPyObject<'_, 'py> for DelegatedCalls {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<String>()?.as_str() {
            "run" => Ok(Self::Run),
            "invalid" => Ok(Self::Invalid),
            "fail" => Ok(Self::Fail),
            other => Err(PyValueError::new_err(format!("delegated calls {other}"))),
        }
    }
}

impl Features {
    pub(crate) fn delegated_calls(&self) -> DelegatedCalls {
        self.delegated_calls
    }

    /// Return whether the blackhole or one of the contracts of native assets is at an address.
    pub(crate) fn is_at(&self, address: &Address) -> bool {
        self.asset_contracts != AssetContracts::None && FORBIDDEN.contains(address)
    }

    /// Return the key of the slot with the committed value that SSTORE takes for that of a key; None:
    /// the value is zero. At the launch it was the key as it is, so the balance of another asset.
    pub(crate) fn committed_key(&self, key: U256) -> Option<U256> {
        match key {
            _ if !self.launch => Some(stored(key)),
            MULTI_COIN_SLOT => None,
            _ => Some(key),
        }
    }

    /// Return whether contracts can move other assets.
    pub(crate) fn assets_work(&self) -> bool {
        self.asset_contracts == AssetContracts::Working
    }

    /// Return whether an execution reads values by keys with the bit: SSTORE at the launch, and the
    /// contracts that move other assets.
    pub(crate) fn reads_marked(&self) -> bool {
        self.launch || self.assets_work()
    }
}

/// Set the rules: no gas is refunded.
pub(crate) fn adapt(rules: &mut CfgEnv, features: Features) {
    if features.launch {
        return;
    }
    let mut gas_params = rules.gas_params.clone();
    gas_params.override_gas([(GasId::max_refund_quotient(), u64::MAX)]);
    rules.set_gas_params(gas_params);
}

/// Return a fork's precompiles and those of a phase.
pub(crate) fn precompiles(spec: SpecId, features: Features) -> &'static Precompiles {
    static MADE: [OnceLock<Precompiles>; 3] = [const { OnceLock::new() }; 3];
    let place = match features {
        Features { p256: true, .. } => &MADE[0],
        Features { asset_contracts: AssetContracts::None, .. } => {
            return Precompiles::new(PrecompileSpecId::from_spec_id(spec));
        }
        _ if spec.is_enabled_in(SpecId::CANCUN) => &MADE[1],
        _ => &MADE[2],
    };
    place.get_or_init(|| {
        let mut all = Precompiles::new(PrecompileSpecId::from_spec_id(spec)).clone();
        if features.p256 {
            all.extend([P256VERIFY_OSAKA.clone()]);
        }
        all.extend(FORBIDDEN.map(|address| {
            Precompile::new(PrecompileId::Custom("forbidden".into()), address, forbidden)
        }));
        all
    })
}

fn forbidden(_: &[u8], _: u64, reservoir: u64) -> PrecompileResult {
    Ok(PrecompileOutput::revert(0, Bytes::new(), reservoir))
}

/// Pay the whole price of the used gas to the block's coinbase.
pub(crate) fn reward(context: &mut EvmContext, gas: &Gas) -> Result<(), ReaderError> {
    if context.cfg.is_fee_charge_disabled() {
        return Ok(());
    }
    let price = context.tx.effective_gas_price(u128::from(context.block.basefee()));
    let used = gas.used().saturating_sub(gas.reservoir());
    let coinbase = context.block.beneficiary();
    let paid = U256::from(price) * U256::from(used);
    context.journal_mut().load_account_mut(coinbase)?.incr_balance(paid);
    Ok(())
}

/// SLOAD: the slot is warm by its key, the value is that of the stored key.
pub(crate) fn sload(context: Context<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let key = interpreter.stack.peek(0)?;
    if key == stored(key) {
        return host::sload(InstructionContext { interpreter, host });
    }
    let target = interpreter.input.target_address();
    let cold_cost = host.gas_params().cold_storage_additional_cost();
    let skips = interpreter.gas.remaining() < cold_cost;
    if host.sload_skip_cold_load(target, key, skips)?.is_cold
        && !interpreter.gas.record_regular_cost(cold_cost)
    {
        return Err(InstructionResult::OutOfGas);
    }
    let value = without_warming(host, target, stored(key), |host| {
        host.sload(target, stored(key)).map(|load| (load.data, load.is_cold))
    })?;
    interpreter.stack.set(0, value)
}

/// SSTORE: the slot is warm by its key, the value is written under the stored key.
pub(crate) fn sstore(context: Context<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let key = interpreter.stack.peek(0)?;
    let has_stipend = interpreter.gas.remaining() > host.gas_params().call_stipend();
    // The usual instruction has the usual failures, before it reads the slot.
    if key == stored(key) || interpreter.runtime_flag.is_static || !has_stipend {
        return host::sstore(InstructionContext { interpreter, host });
    }
    let value = interpreter.stack.peek(1)?;
    interpreter.stack.popn::<2>().ok_or(InstructionResult::StackUnderflow)?;
    let target = interpreter.input.target_address();
    if !interpreter.gas.record_regular_cost(host.gas_params().sstore_static_gas()) {
        return Err(InstructionResult::OutOfGas);
    }
    let skips = interpreter.gas.remaining() < host.gas_params().cold_storage_cost();
    let by_key = host.sload_skip_cold_load(target, key, skips)?;
    let mut result: SStoreResult = without_warming(host, target, stored(key), |host| {
        host.sstore(target, stored(key), value).map(|load| (load.data, load.is_cold))
    })?;
    match host.chain.coreth.and_then(|features| features.committed_key(key)) {
        Some(committed) if committed == key => result.original_value = by_key.data,
        Some(_) => {}
        None => result.original_value = U256::ZERO,
    }
    let load = StateLoad::new(result, by_key.is_cold);
    let mut context = InstructionContext { interpreter, host };
    host::sstore_default_gas_accounting(&mut context, target, &load)
}

/// Load a slot; if it was cold it is cold again afterwards.
pub(crate) fn without_warming<T>(
    host: &mut EvmContext,
    target: Address,
    key: U256,
    load: impl FnOnce(&mut EvmContext) -> Option<(T, bool)>,
) -> Result<T, InstructionResult> {
    let before = host.journaled_state.inner.journal.len();
    let (found, was_cold) = load(host).ok_or(InstructionResult::FatalExternalError)?;
    if was_cold {
        let journal = &mut host.journaled_state.inner.journal;
        let is_warming = |entry: &JournalEntry| matches!(entry, JournalEntry::StorageWarmed { .. });
        if let Some(place) = journal[before..].iter().position(is_warming) {
            journal.remove(before + place);
        }
        let account = host.journaled_state.inner.state.get_mut(&target);
        if let Some(slot) = account.and_then(|account| account.storage.get_mut(&key)) {
            slot.mark_cold();
        }
    }
    Ok(found)
}

/// The gas for bringing an account into being.
pub(crate) const NEW_ACCOUNT_GAS: u64 = 25_000;

/// Return whether an account exists although revm takes it for empty: it ever held another asset.
pub(crate) fn is_kept(context: &mut EvmContext, address: Address) -> Result<bool, ReaderError> {
    let account = context.journaled_state.state.get(&address);
    if account.is_some_and(|account| !account.info.is_empty() || account.is_created()) {
        return Ok(false);
    }
    was_kept(context, address)
}

/// Return the same for an account that was empty before the present instruction.
pub(crate) fn was_kept(context: &mut EvmContext, address: Address) -> Result<bool, ReaderError> {
    if context.chain.coreth.is_none() {
        return Ok(false);
    }
    let journal = &mut context.journaled_state;
    let field = journal.inner.state.get(&address).and_then(|account| {
        account.storage.get(&MULTI_COIN_SLOT).filter(|field| !field.present_value.is_zero())
    });
    if field.is_some() {
        return Ok(true);
    }
    journal.database.is_kept(address)
}

fn is_kept_in(host: &mut EvmContext, word: U256) -> Result<bool, InstructionResult> {
    is_kept(host, Address::from_word(word.into())).map_err(|error| {
        host.error = Err(ContextError::Db(error));
        InstructionResult::FatalExternalError
    })
}

/// CALL: an account that is kept is not new.
pub(crate) fn call(context: Context<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let is_known = match (interpreter.stack.peek(1), interpreter.stack.peek(2)) {
        (Ok(to), Ok(value)) if !value.is_zero() => is_kept_in(host, to)?,
        _ => false,
    };
    with_gift(interpreter, host, is_known, contract::call::<{ opcode::CALL }, _, _>)
}

/// SELFDESTRUCT: likewise.
pub(crate) fn selfdestruct(context: Context<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let own = host.journaled_state.state.get(&interpreter.input.target_address());
    let has_balance = own.is_some_and(|own| !own.info.balance.is_zero());
    let is_known = match interpreter.stack.peek(0) {
        Ok(beneficiary) if has_balance => is_kept_in(host, beneficiary)?,
        _ => false,
    };
    with_gift(interpreter, host, is_known, host::selfdestruct)
}

/// Run an instruction that charges for a new account; if there is none, with that gas more.
fn with_gift(
    interpreter: &mut Interpreter<EthInterpreter>,
    host: &mut EvmContext,
    is_known: bool,
    run: impl Fn(Context<'_>) -> InstructionExecResult,
) -> InstructionExecResult {
    if !is_known {
        return run(InstructionContext { interpreter, host });
    }
    let gas = &mut interpreter.gas;
    gas.set_remaining(gas.remaining() + NEW_ACCOUNT_GAS);
    let outcome = run(InstructionContext { interpreter: &mut *interpreter, host });
    if !matches!(outcome, Err(InstructionResult::Suspend | InstructionResult::SelfDestruct)) {
        // It failed before it charged that gas.
        let gas = &mut interpreter.gas;
        gas.set_remaining(gas.remaining().saturating_sub(NEW_ACCOUNT_GAS));
    }
    outcome
}

/// EXTCODEHASH: an account that is kept has the hash of no code.
pub(crate) fn extcodehash(context: Context<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let address = interpreter.stack.peek(0).unwrap_or_default();
    host::extcodehash(InstructionContext { interpreter: &mut *interpreter, host: &mut *host })?;
    if interpreter.stack.peek(0)?.is_zero() && is_kept_in(host, address)? {
        interpreter.stack.set(0, KECCAK_EMPTY.into())?;
    }
    Ok(())
}

/// Return all instructions, with those that differ on coreth.
pub(crate) fn instructions() -> InstructionTable<EthInterpreter, EvmContext> {
    let mut table = instruction_table();
    table[opcode::SLOAD as usize] = Instruction::new(sload);
    table[opcode::SSTORE as usize] = Instruction::new(sstore);
    table[opcode::EXTCODEHASH as usize] = Instruction::new(extcodehash);
    table[opcode::CALL as usize] = Instruction::new(call);
    table[opcode::SELFDESTRUCT as usize] = Instruction::new(selfdestruct);
    table
}
