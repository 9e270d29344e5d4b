//! The EVM of the C-Chain of avalanchego's networks, where it differs from Ethereum's (coreth.md 7,
//! 8.1, 15): storage keys lose a bit, no gas is refunded, the whole price goes to the coinbase, and
//! there are further precompiles.

use std::sync::OnceLock;

use pyo3::{exceptions::PyValueError, prelude::*};
use revm::{
    context::{CfgEnv, journal::JournalEntry},
    context_interface::{
        Block, Cfg, ContextTr, Host, JournalTr, Transaction,
        cfg::gas_params::GasId,
        context::{SStoreResult, StateLoad},
        journaled_state::account::JournaledAccountTr,
    },
    interpreter::{
        Gas, Instruction, InstructionContext, InstructionExecResult, InstructionResult,
        instructions::host, interpreter::EthInterpreter, interpreter_types::InputsTr,
    },
    precompile::{
        Precompile, PrecompileId, PrecompileOutput, PrecompileResult, PrecompileSpecId,
        Precompiles, secp256r1::P256VERIFY_OSAKA,
    },
    primitives::{Address, B256, Bytes, U256, address, hardfork::SpecId},
};

use crate::{environment::EvmContext, reader::ReaderError};

/// The blackhole and the two contracts of native assets, which have been deprecated: they revert.
pub(crate) const FORBIDDEN: [Address; 3] = [
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

/// Return whether a stored slot is the balance of another asset.
pub(crate) fn is_of_asset(slot: B256) -> bool {
    slot[0] & 1 == 1
}

/// The port's `CorethFeatures`.
#[derive(Clone, Copy, FromPyObject)]
pub(crate) struct Features {
    refunds: bool,
    asset_contracts: AssetContracts,
    p256: bool,
    delegated_calls: DelegatedCalls,
}

/// What the blackhole and the two contracts of native assets do. Where those work, the port's
/// engine does not use this crate.
#[derive(Clone, Copy, PartialEq)]
enum AssetContracts {
    None,
    Reverting,
}

impl<'py> FromPyObject<'_, 'py> for AssetContracts {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<String>()?.as_str() {
            "none" => Ok(Self::None),
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

    /// Return whether a precompile of Avalanche is at an address: one that only reverts.
    pub(crate) fn is_forbidden(&self, address: &Address) -> bool {
        self.asset_contracts == AssetContracts::Reverting && FORBIDDEN.contains(address)
    }
}

/// Set the rules: no gas is refunded.
pub(crate) fn adapt(rules: &mut CfgEnv, features: Features) {
    if features.refunds {
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
        Features { asset_contracts: AssetContracts::Reverting, .. }
            if spec.is_enabled_in(SpecId::CANCUN) =>
        {
            &MADE[1]
        }
        Features { asset_contracts: AssetContracts::Reverting, .. } => &MADE[2],
        Features { asset_contracts: AssetContracts::None, .. } => {
            return Precompiles::new(PrecompileSpecId::from_spec_id(spec));
        }
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
    let is_cold = host.sload_skip_cold_load(target, key, skips)?.is_cold;
    let result: SStoreResult = without_warming(host, target, stored(key), |host| {
        host.sstore(target, stored(key), value).map(|load| (load.data, load.is_cold))
    })?;
    let load = StateLoad::new(result, is_cold);
    let mut context = InstructionContext { interpreter, host };
    host::sstore_default_gas_accounting(&mut context, target, &load)
}

/// Load a slot; if it was cold it is cold again afterwards.
fn without_warming<T>(
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

/// The two instructions in a table.
pub(crate) const SLOAD: Instruction<EthInterpreter, EvmContext> = Instruction::new(sload);
pub(crate) const SSTORE: Instruction<EthInterpreter, EvmContext> = Instruction::new(sstore);
