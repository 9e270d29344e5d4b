//! A read-only call, as eth_call and eth_estimateGas make it. What it changes is thrown away.

use std::time::{Duration, Instant};

use alloy_eips::eip7702::SignedAuthorization;
use alloy_rlp::Decodable;
use pyo3::prelude::*;
use revm::{
    Database, ExecuteEvm, InspectEvm, Inspector, MainBuilder,
    context::{TxEnv, either::Either},
    context_interface::{
        ContextTr,
        result::{EVMError, ExecutionResult, HaltReason, InvalidTransaction},
        transaction::{AccessList, AccessListItem, AuthorizationTr, TransactionType},
    },
    handler::EthPrecompiles,
    primitives::{Address, AddressSet, B256, Bytes, Log, TxKind, U256, hardfork::SpecId},
};

use crate::{
    access::Accesses,
    convert::{Addr, Blob, Uint, Word},
    environment::{self, Env, EvmContext},
    halt::{self, LastStep},
    limits::{self, Meter, StepLimit},
    overlay::Overlay,
    reader::{Reader, ReaderError},
    rejection,
};

/// The port's `CallMessage`, attribute by attribute.
#[derive(FromPyObject)]
pub(crate) struct Message {
    sender: Addr,
    to: Option<Addr>,
    gas: u64,
    gas_price: u128,
    value: Uint,
    data: Blob,
    access_list: Vec<(Addr, Vec<Word>)>,
    authorizations: Vec<Blob>,
    max_priority_fee: Option<u128>,
    blob_hashes: Vec<Word>,
}

/// How far a call may go.
#[derive(Default, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) steps: Option<u64>,
    pub(crate) seconds: Option<f64>,
}

/// What a call came to.
pub(crate) struct Answer {
    pub(crate) output: Bytes,
    pub(crate) gas_used: u64,
    pub(crate) gas_peak: u64,
    pub(crate) error: Option<String>,
    pub(crate) logs: Vec<Log>,
    pub(crate) access_list: Option<Vec<(Address, Vec<B256>)>>,
}

/// Why a call came to nothing.
pub(crate) enum CallFailure {
    /// The reader raised.
    Reader(PyErr),
    /// It could not begin; in geth's words.
    Rejected(String),
    /// A limit was reached; which one.
    Interrupted(&'static str),
}

impl From<ReaderError> for CallFailure {
    fn from(error: ReaderError) -> Self {
        Self::Reader(error.0)
    }
}

type RunError = EVMError<ReaderError, InvalidTransaction>;

/// Run a call on a state.
pub(crate) fn call(
    env: &Env,
    spec: SpecId,
    message: Message,
    reader: Reader,
    limits: Limits,
    with_access_list: bool,
) -> Result<Answer, CallFailure> {
    let mut context = prepare(env, spec, &message, Overlay::new(reader, spec));
    let tx = transaction(message, env.chain_id)?;
    check_price(&context, &tx)?;
    check_recipient(&tx)?;
    check_funds(&mut context, &tx)?;
    let deadline = limits.seconds.and_then(deadline);
    if with_access_list {
        let steps = StepLimit { left: limits.steps.unwrap_or(u64::MAX) };
        let gatherer = Accesses::new(excluded(&mut context, &tx, spec)?);
        let (run, (_, gatherer)) = inspect(context, tx.clone(), deadline, (steps, gatherer));
        let mut answer = finish(run, tx, deadline)?;
        answer.access_list = Some(gatherer.into_list());
        Ok(answer)
    } else if let Some(left) = limits.steps {
        let (run, _) = inspect(context, tx.clone(), deadline, StepLimit { left });
        finish(run, tx, deadline)
    } else {
        finish(run_plain(context, tx.clone(), deadline), tx, deadline)
    }
}

/// Nonce, EIP-3607, EIP-7825 and the block's gas limit are not for calls. Without a price the
/// base fee reads 0, and blobs cost nothing.
fn prepare(env: &Env, spec: SpecId, message: &Message, state: Overlay) -> EvmContext {
    let mut rules = env.rules(spec);
    rules.disable_nonce_check = true;
    rules.disable_eip3607 = true;
    rules.disable_block_gas_limit = true;
    rules.tx_gas_limit_cap = Some(u64::MAX);
    let mut block = env.block(spec);
    if message.gas_price == 0 {
        block.basefee = 0;
    }
    if !message.blob_hashes.is_empty()
        && let Some(blobs) = &mut block.blob_excess_gas_and_price
    {
        blobs.blob_gasprice = 0;
    }
    environment::context(state, block, rules)
}

fn transaction(message: Message, chain_id: u64) -> Result<TxEnv, CallFailure> {
    let mut authorization_list = Vec::with_capacity(message.authorizations.len());
    for blob in &message.authorizations {
        let decoded = SignedAuthorization::decode(&mut blob.0.as_ref())
            .map_err(|error| CallFailure::Rejected(format!("invalid authorization: {error}")))?;
        authorization_list.push(Either::Left(decoded));
    }
    let item = |(address, slots): (Addr, Vec<Word>)| AccessListItem {
        address: address.0,
        storage_keys: slots.into_iter().map(|slot| slot.0).collect(),
    };
    let access_list: Vec<_> = message.access_list.into_iter().map(item).collect();
    let tx_type = if !authorization_list.is_empty() {
        TransactionType::Eip7702
    } else if !message.blob_hashes.is_empty() {
        TransactionType::Eip4844
    } else if message.max_priority_fee.is_some() {
        TransactionType::Eip1559
    } else if !access_list.is_empty() {
        TransactionType::Eip2930
    } else {
        TransactionType::Legacy
    };
    let tx = TxEnv {
        tx_type: tx_type.into(),
        caller: message.sender.0,
        gas_limit: message.gas,
        gas_price: message.gas_price,
        kind: message.to.map_or(TxKind::Create, |to| TxKind::Call(to.0)),
        value: message.value.0,
        data: message.data.0,
        nonce: 0,
        chain_id: Some(chain_id),
        access_list: AccessList(access_list),
        gas_priority_fee: message.max_priority_fee,
        blob_hashes: message.blob_hashes.into_iter().map(|hash| hash.0).collect(),
        max_fee_per_blob_gas: 0,
        authorization_list,
    };
    if tx.gas_priority_fee.is_some_and(|tip| tip > tx.gas_price) {
        return Err(CallFailure::Rejected(rejection::tip_above_cap(&tx)));
    }
    // The price is the effective one: its tip is all that it leaves above the base fee.
    Ok(TxEnv { gas_priority_fee: Some(tx.gas_price), ..tx })
}

/// Geth looks at the price first, then at the funds, then at the gas.
fn check_price(context: &EvmContext, tx: &TxEnv) -> Result<(), CallFailure> {
    let base_fee = context.block.basefee;
    if tx.gas_price < u128::from(base_fee) {
        return Err(refused(&InvalidTransaction::GasPriceLessThanBasefee, tx, context));
    }
    Ok(())
}

fn check_recipient(tx: &TxEnv) -> Result<(), CallFailure> {
    if tx.authorization_list.is_empty() || matches!(tx.kind, TxKind::Call(_)) {
        return Ok(());
    }
    Err(CallFailure::Rejected(format!(
        "EIP-7702 transaction cannot be used to create contract (sender {})",
        tx.caller
    )))
}

fn check_funds(context: &mut EvmContext, tx: &TxEnv) -> Result<(), CallFailure> {
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

fn refused(error: &InvalidTransaction, tx: &TxEnv, context: &EvmContext) -> CallFailure {
    let rejection = rejection::refused(error, tx, &context.cfg, context.block.basefee);
    CallFailure::Rejected(rejection.reason)
}

/// A deadline beyond what the clock can tell is none.
fn deadline(seconds: f64) -> Option<Instant> {
    let beyond = if seconds > 0.0 { Duration::MAX } else { Duration::ZERO };
    let duration = Duration::try_from_secs_f64(seconds).unwrap_or(beyond);
    Instant::now().checked_add(duration)
}

fn excluded(context: &mut EvmContext, tx: &TxEnv, spec: SpecId) -> Result<AddressSet, CallFailure> {
    let recipient = match tx.kind {
        TxKind::Call(to) => to,
        TxKind::Create => {
            let nonce = context.db_mut().basic(tx.caller)?.unwrap_or_default().nonce;
            tx.caller.create(nonce)
        }
    };
    let authorities = tx.authorization_list.iter().filter_map(AuthorizationTr::authority);
    let precompiles = EthPrecompiles::new(spec).precompiles.addresses().copied();
    Ok(precompiles.chain(authorities).chain([tx.caller, recipient]).collect())
}

/// What a run came to, and the context it leaves.
type Run = (Result<ExecutionResult, RunError>, EvmContext);

fn run_plain(context: EvmContext, tx: TxEnv, deadline: Option<Instant>) -> Run {
    let mut evm = context.build_mainnet();
    if let Some(deadline) = deadline {
        limits::watch_time(&mut evm.instruction);
        evm.ctx.chain = Meter::new(deadline);
    }
    let result = evm.transact_one(tx);
    (result, evm.ctx)
}

fn inspect<I: Inspector<EvmContext>>(
    context: EvmContext,
    tx: TxEnv,
    deadline: Option<Instant>,
    inspector: I,
) -> (Run, I) {
    let mut evm = context.build_mainnet_with_inspector(inspector);
    if let Some(deadline) = deadline {
        limits::watch_time(&mut evm.instruction);
        evm.ctx.chain = Meter::new(deadline);
    }
    let result = evm.inspect_one_tx(tx);
    ((result, evm.ctx), evm.inspector)
}

fn finish(run: Run, tx: TxEnv, deadline: Option<Instant>) -> Result<Answer, CallFailure> {
    let (result, context) = run;
    let result = result.map_err(|error| failure(error, &tx, &context))?;
    let gas = result.gas();
    let mut answer = Answer {
        output: Bytes::new(),
        gas_used: gas.tx_gas_used(),
        gas_peak: gas.total_gas_spent().max(gas.floor_gas()),
        error: None,
        logs: Vec::new(),
        access_list: None,
    };
    match result {
        ExecutionResult::Success { logs, output, .. } => {
            answer.output = output.into_data();
            answer.logs = logs;
        }
        ExecutionResult::Revert { output, .. } => {
            answer.output = output;
            answer.error = Some("execution reverted".into());
        }
        ExecutionResult::Halt { reason, .. } => {
            answer.error = Some(explain(&reason, context, tx, deadline)?);
        }
    }
    Ok(answer)
}

fn failure(error: RunError, tx: &TxEnv, context: &EvmContext) -> CallFailure {
    match error {
        EVMError::Database(error) => error.into(),
        EVMError::Transaction(error) => refused(&error, tx, context),
        EVMError::Custom(words) => match limits::reached(&words) {
            Some(limit) => CallFailure::Interrupted(limit),
            None => CallFailure::Rejected(words),
        },
        other => CallFailure::Rejected(other.to_string()),
    }
}

/// Why the EVM halted; when need be, after a second run that looks at the last instruction.
fn explain(
    reason: &HaltReason,
    context: EvmContext,
    tx: TxEnv,
    deadline: Option<Instant>,
) -> Result<String, CallFailure> {
    let mut last = LastStep::default();
    if halt::needs_last_step(reason, matches!(tx.kind, TxKind::Create)) {
        let EvmContext { block, cfg, journaled_state, .. } = context;
        let context = environment::context(journaled_state.database, block, cfg);
        let (run, seen) = inspect(context, tx.clone(), deadline, last);
        let (result, context) = run;
        result.map_err(|error| failure(error, &tx, &context))?;
        last = seen;
    }
    Ok(halt::words(reason, &last))
}
