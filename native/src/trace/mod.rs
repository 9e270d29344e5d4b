//! Tracing: transactions and calls are executed again and recorded. Python formats the recordings,
//! except for the records of single instructions.

mod answers;
mod costs;
mod frames;
mod json;
mod notes;
mod opcodes;
mod recorder;
mod recording;
mod state;
mod step;
mod steps;
mod tracer;
mod vm;

use revm::{context_interface::result::EVMError, primitives::hardfork::SpecId};

pub(crate) use answers::{block as block_answer, trace as call_answer};
pub(crate) use notes::Notes;
pub(crate) use recording::Recording;
use tracer::{Trace, Tracer};

use crate::{
    block::{self, BlockFailure},
    call::{self, CallFailure},
    environment::{Env, Environment, EvmContext, Price, context},
    frames::RunError,
    limits::{self, Limits, Meter},
    message::{self, Message},
    overlay::{Changes, Overlay},
    reader::{Reader, ReaderError},
    rejection::{self, Rejection},
    runner,
    slots::CallSlots,
    stateful,
    system::{self, SystemFailure},
    transaction::SignedTransaction,
};

/// Bytes that take as long to write as one gas takes to execute.
const BYTES_PER_GAS: usize = 16;

/// A block's transactions, traced.
pub(crate) struct BlockTrace {
    /// Changes of the system calls before the first transaction.
    pub(crate) before: Changes,
    pub(crate) transactions: Vec<Trace>,
}

/// The reason why a block was not traced.
pub(crate) enum TraceFailure {
    Block(BlockFailure),
    /// A limit was reached; the limit's name.
    Interrupted(&'static str),
}

impl From<SystemFailure> for TraceFailure {
    fn from(failure: SystemFailure) -> Self {
        Self::Block(failure.into())
    }
}

impl From<ReaderError> for TraceFailure {
    fn from(error: ReaderError) -> Self {
        Self::Block(error.into())
    }
}

/// The call slots and the time limit for each transaction.
#[derive(Clone, Copy)]
pub(crate) struct Turns<'a> {
    pub(crate) seconds: Option<f64>,
    pub(crate) call_slots: &'a CallSlots,
}

/// Execute a block's transactions in order, and record those from `first` on.
pub(crate) fn block(
    env: &Env,
    spec: SpecId,
    transactions: &[SignedTransaction],
    reader: Reader,
    recording: &Recording,
    first: usize,
    turns: Turns<'_>,
) -> Result<BlockTrace, TraceFailure> {
    let mut rules = env.rules(spec);
    // A block's transactions have been accepted, so the sender may be any account.
    rules.disable_eip3607 = true;
    let state = Overlay::new(reader, spec, env.own_features());
    let mut evm = block::build(
        context(state, env.block(spec), rules, &env.stateful, env.own_features()),
        env,
        spec,
    );
    system::before_transactions(&mut evm, env, spec)?;
    let before = evm.ctx.journaled_state.database.changes()?;
    let mut tracer = Tracer::new(evm.ctx, env.precompiles(spec), recording.most_bytes);
    let unrecorded = Recording::default();
    let mut traces = Vec::new();
    let mut gas_used = 0;
    for (index, transaction) in transactions.iter().enumerate() {
        let refused = |why: Rejection| TraceFailure::Block(block::invalid(index, transaction, why));
        limit(tracer.context(), turns)?;
        let tx = transaction.decode().map_err(|error| refused(rejection::malformed(&error)))?.tx;
        if tx.gas_limit > env.gas_left(gas_used) {
            return Err(refused(rejection::block_full(false)));
        }
        tracer.context().chain.predicates = env.stateful.predicates_of(|| transaction.hash());
        if let Some(reason) = stateful::refusal(tracer.context(), tx.caller)? {
            return Err(refused(Rejection { reason, retry: false }));
        }
        let contract = block::created_address(&tx);
        let recording = if index < first { &unrecorded } else { recording };
        let trace = tracer.execute(tx, contract, recording).map_err(|error| match error {
            EVMError::Database(error) => error.into(),
            EVMError::Custom(words) => match limits::reached(&words) {
                Some(limit) => TraceFailure::Interrupted(limit),
                None => refused(Rejection { reason: words, retry: false }),
            },
            error => refused(block::rejection(&error, tracer.context(), env)),
        })?;
        gas_used += trace.gas_used;
        if index >= first {
            traces.push(trace);
        }
    }
    Ok(BlockTrace { before, transactions: traces })
}

/// Wait for a slot for a transaction, and start its time limit.
fn limit(context: &mut EvmContext, turns: Turns<'_>) -> Result<(), TraceFailure> {
    context.chain.meter = Meter::default();
    context.journaled_state.database.limit(None, None);
    let limits =
        Limits { seconds: turns.seconds, call_slots: Some(turns.call_slots), ..Limits::default() };
    let meter = Meter::new(limits).map_err(|_| TraceFailure::Interrupted(limits::TIME))?;
    context.journaled_state.database.limit(meter.deadline(), meter.turn());
    context.chain.meter = meter;
    Ok(())
}

/// Run and record a call. If its price is due, reject it unless it could be a transaction of the
/// block.
pub(crate) fn call(
    environment: &Environment,
    message: Message,
    reader: Reader,
    recording: &Recording,
    price: Price,
    limits: Limits<'_>,
) -> Result<Trace, CallFailure> {
    let (mut context, tx) =
        call::context_and_transaction(environment, message, reader, limits, price)?;
    message::check_funds(&mut context, &tx)?;
    let contract = call::created_address(&mut context, &tx)?;
    let mut tracer = Tracer::new(context, environment.precompiles(), recording.most_bytes);
    tracer
        .execute(tx, contract, recording)
        .map_err(|error: RunError| runner::failure(error, tracer.context()))
}
