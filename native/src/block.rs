//! A whole block: the fork's system calls and the transactions in order, on one overlay.
//!
//! There is no block reward, not even before Paris, because this chain never had miners. Blob gas
//! is not limited per block, because the port's `BlockEnv` has no such limit: the rules of the
//! chain's blocks have it.

use pyo3::prelude::*;
use revm::{
    DatabaseCommit,
    context::{Evm, TxEnv},
    context_interface::{
        ContextSetters, ContextTr, FrameStack, JournalTr,
        cfg::gas::InitialAndFloorGas,
        result::{EVMError, ExecutionResult, HaltReason},
    },
    handler::{FrameResult, Handler, instructions::EthInstructions, post_execution},
    interpreter::{instructions::gas_table_spec, interpreter_action::FrameInit},
    primitives::{Address, B256, Log, TxKind, hardfork::SpecId},
};

use crate::{
    coreth,
    environment::{Env, EvmContext, context},
    frames::{self, EvmOf, Plain, RunError},
    overlay::{Changes, Overlay},
    precompiles::ChangedPrecompiles,
    reader::{Reader, ReaderError},
    rejection::{self, Rejection},
    stateful,
    system::{self, SystemFailure},
    transaction::SignedTransaction,
};

/// Blobs of a transaction since Osaka (EIP-7594).
const MAX_BLOBS_PER_TX: usize = 6;

/// The EVM that executes a block.
pub(crate) type BlockEvm = EvmOf<(), ChangedPrecompiles>;

/// Mainnet's rules with this crate's frame loop.
struct BlockHandler;

impl Handler for BlockHandler {
    type Evm = BlockEvm;
    type Error = RunError;
    type HaltReason = HaltReason;

    fn validate_initial_tx_gas(&self, evm: &mut Self::Evm) -> Result<InitialAndFloorGas, RunError> {
        stateful::initial_gas(&mut evm.ctx)
    }

    fn reward_beneficiary(
        &self,
        evm: &mut Self::Evm,
        result: &mut FrameResult,
    ) -> Result<(), RunError> {
        if evm.ctx.chain.coreth.is_some() {
            coreth::reward(&mut evm.ctx, result.gas())?;
            return Ok(());
        }
        post_execution::reward_beneficiary(&mut evm.ctx, result.gas()).map_err(RunError::from)
    }

    fn run_exec_loop(
        &mut self,
        evm: &mut Self::Evm,
        first: FrameInit,
    ) -> Result<FrameResult, RunError> {
        frames::run::<Plain, _, _>(evm, first)
    }
}

/// The result of a transaction in the block.
pub(crate) struct Outcome {
    pub(crate) succeeded: bool,
    pub(crate) gas_used: u64,
    pub(crate) logs: Vec<Log>,
    pub(crate) contract: Option<Address>,
}

/// The result of the block.
#[derive(Default)]
pub(crate) struct Block {
    pub(crate) included: Vec<usize>,
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) skipped: Vec<(usize, Rejection)>,
    pub(crate) gas_used: u64,
    pub(crate) changes: Changes,
    pub(crate) requests_hash: Option<B256>,
}

/// The reason why a block cannot be executed.
pub(crate) enum BlockFailure {
    /// The reader raised an exception.
    Reader(PyErr),
    /// The block breaks a rule; the error message.
    Invalid(String),
}

impl From<ReaderError> for BlockFailure {
    fn from(error: ReaderError) -> Self {
        Self::Reader(error.0)
    }
}

impl From<SystemFailure> for BlockFailure {
    fn from(failure: SystemFailure) -> Self {
        match failure {
            SystemFailure::Reader(error) => error.into(),
            SystemFailure::Block(words) => Self::Invalid(words),
        }
    }
}

/// The reason why a transaction is not in the block.
enum TransactionFailure {
    Rejected(Rejection),
    Reader(ReaderError),
}

impl From<Rejection> for TransactionFailure {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

/// Execute a block. Without `skip_invalid`, an invalid transaction makes the whole block invalid.
pub(crate) fn execute(
    env: &Env,
    spec: SpecId,
    transactions: &[SignedTransaction],
    reader: Reader,
    skip_invalid: bool,
) -> Result<Block, BlockFailure> {
    let state = Overlay::new(reader, spec, env.own_features());
    let mut evm = build(
        context(state, env.block(spec), env.rules(spec), &env.stateful, env.own_features()),
        env,
        spec,
    );
    system::before_transactions(&mut evm, env, spec)?;
    let mut block = Block::default();
    for (index, transaction) in transactions.iter().enumerate() {
        match apply(&mut evm, env, transaction, env.gas_left(block.gas_used)) {
            Ok(outcome) => {
                block.gas_used += outcome.gas_used;
                block.included.push(index);
                block.outcomes.push(outcome);
            }
            Err(TransactionFailure::Reader(error)) => return Err(error.into()),
            Err(TransactionFailure::Rejected(why)) if skip_invalid => {
                block.skipped.push((index, why));
            }
            Err(TransactionFailure::Rejected(why)) => {
                return Err(invalid(index, transaction, why));
            }
        }
    }
    if spec.is_enabled_in(SpecId::PRAGUE) {
        let logs = block.outcomes.iter().flat_map(|outcome| &outcome.logs);
        block.requests_hash = Some(system::after_transactions(&mut evm, logs)?);
    }
    block.changes = evm.ctx.journaled_state.database.changes()?;
    Ok(block)
}

/// Build the EVM of a block.
pub(crate) fn build(context: EvmContext, env: &Env, spec: SpecId) -> BlockEvm {
    let instruction = if context.chain.coreth.is_some() {
        EthInstructions::new(coreth::instructions(), gas_table_spec(spec), spec)
    } else {
        EthInstructions::new_mainnet_with_spec(spec)
    };
    Evm {
        ctx: context,
        inspector: (),
        instruction,
        precompiles: env.precompiles(spec),
        frame_stack: FrameStack::new_prealloc(8),
    }
}

/// The failure of a block with an invalid transaction.
pub(crate) fn invalid(
    index: usize,
    transaction: &SignedTransaction,
    why: Rejection,
) -> BlockFailure {
    let hash = B256::from_slice(&transaction.hash());
    BlockFailure::Invalid(format!("could not apply tx {index} [{hash}]: {}", why.reason))
}

fn apply(
    evm: &mut BlockEvm,
    env: &Env,
    transaction: &SignedTransaction,
    gas_left: u64,
) -> Result<Outcome, TransactionFailure> {
    let decoded = transaction.decode().map_err(|error| rejection::malformed(&error))?;
    let tx = decoded.tx;
    if tx.gas_limit > gas_left {
        return Err(rejection::block_full(tx.gas_limit <= env.gas_limit).into());
    }
    if evm.ctx.cfg.spec.is_enabled_in(SpecId::OSAKA) && tx.blob_hashes.len() > MAX_BLOBS_PER_TX {
        return Err(rejection::too_many_blobs(&tx, MAX_BLOBS_PER_TX).into());
    }
    evm.ctx.chain.predicates = env.stateful.predicates_of(|| transaction.hash());
    let forbidden = stateful::refusal(&mut evm.ctx, tx.caller);
    if let Some(reason) = forbidden.map_err(TransactionFailure::Reader)? {
        return Err(Rejection { reason, retry: false }.into());
    }
    let created = created_address(&tx);
    // An impersonated sender may be a contract.
    evm.ctx.cfg.disable_eip3607 = decoded.impersonated;
    evm.ctx.set_tx(tx);
    let result = BlockHandler.run(evm);
    let changed = evm.ctx.journal_mut().finalize();
    match result {
        Ok(result) => {
            evm.ctx.db_mut().commit(changed);
            Ok(outcome(result, created))
        }
        Err(EVMError::Database(error)) => Err(TransactionFailure::Reader(error)),
        Err(error) => Err(rejection(&error, &evm.ctx, env).into()),
    }
}

/// The reason why the EVM rejected its transaction.
pub(crate) fn rejection(error: &RunError, context: &EvmContext, env: &Env) -> Rejection {
    match error {
        EVMError::Transaction(error) => {
            let base_fee = env.base_fee.unwrap_or_default();
            rejection::refused(error, &context.tx, &context.cfg, base_fee)
        }
        error => Rejection { reason: error.to_string(), retry: false },
    }
}

/// The address of the contract that a transaction creates.
pub(crate) fn created_address(tx: &TxEnv) -> Option<Address> {
    matches!(tx.kind, TxKind::Create).then(|| tx.caller.create(tx.nonce))
}

fn outcome(result: ExecutionResult, contract: Option<Address>) -> Outcome {
    let succeeded = result.is_success();
    let gas_used = result.gas().tx_gas_used();
    let logs = if succeeded { result.into_logs() } else { Vec::new() };
    Outcome { succeeded, gas_used, logs, contract }
}

/// Make the system calls after a block's transactions; return their changes and the requests hash.
pub(crate) fn close(
    env: &Env,
    spec: SpecId,
    reader: Reader,
    logs: &[Log],
) -> Result<(Changes, Option<B256>), BlockFailure> {
    if !spec.is_enabled_in(SpecId::PRAGUE) {
        return Ok((Changes::default(), None));
    }
    let state = Overlay::new(reader, spec, env.own_features());
    let mut evm = build(
        context(state, env.block(spec), env.rules(spec), &env.stateful, env.own_features()),
        env,
        spec,
    );
    let requests_hash = system::after_transactions(&mut evm, logs.iter())?;
    Ok((evm.ctx.journaled_state.database.changes()?, Some(requests_hash)))
}
