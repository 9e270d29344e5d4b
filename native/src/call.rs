//! A read-only call as in eth_call. Its changes are discarded.

use pyo3::prelude::*;
use revm::{
    Database,
    context::TxEnv,
    context_interface::{ContextTr, transaction::AuthorizationTr},
    handler::PrecompileProvider,
    primitives::{Address, AddressSet, B256, Bytes, Log, TxKind},
};

use crate::{
    access::Accesses,
    environment::{Environment, EvmContext, Price},
    limits::{Limits, Meter},
    message::{self, Message},
    reader::{Reader, ReaderError},
    runner::Runner,
    stateful,
};

/// The result of a call.
pub(crate) struct Answer {
    pub(crate) output: Bytes,
    pub(crate) gas_used: u64,
    pub(crate) gas_peak: u64,
    pub(crate) error: Option<String>,
    pub(crate) logs: Vec<Log>,
    pub(crate) access_list: Option<Vec<(Address, Vec<B256>)>>,
}

/// The reason why a call has no result.
pub(crate) enum CallFailure {
    /// The reader raised an exception.
    Reader(PyErr),
    /// The call was rejected before it started; geth's error message.
    Rejected(String),
    /// The gas limit is below the intrinsic gas; geth's error message.
    GasTooLow(String),
    /// The call reached a limit; the limit's name.
    Interrupted(&'static str),
}

impl From<ReaderError> for CallFailure {
    fn from(error: ReaderError) -> Self {
        Self::Reader(error.0)
    }
}

/// Run a call on a state.
pub(crate) fn call(
    environment: &Environment,
    message: Message,
    reader: Reader,
    limits: Limits<'_>,
    with_access_list: bool,
) -> Result<Answer, CallFailure> {
    let (mut runner, tx) = prepare(environment, message, reader, limits)?;
    if with_access_list {
        let gatherer = Accesses::new(excluded(runner.context(), &tx, environment)?);
        let mut runner = runner.inspected_by(gatherer);
        let result = runner.run(&tx)?;
        let touched = runner.inspector().take_list();
        let answer = runner.answer(result, &tx)?;
        Ok(Answer { access_list: Some(touched), ..answer })
    } else {
        let result = runner.run(&tx)?;
        runner.answer(result, &tx)
    }
}

/// Return an EVM on a state and the message's transaction, after all checks except those of funds
/// and gas.
pub(crate) fn prepare(
    environment: &Environment,
    message: Message,
    reader: Reader,
    limits: Limits<'_>,
) -> Result<(Runner<()>, TxEnv), CallFailure> {
    let (context, tx) =
        context_and_transaction(environment, message, reader, limits, Price::Usual)?;
    Ok((Runner::new(context, environment.precompiles()), tx))
}

/// Return the context of a call and its transaction. The nonce is checked only if the price is due
/// and the message has a nonce.
pub(crate) fn context_and_transaction(
    environment: &Environment,
    message: Message,
    reader: Reader,
    limits: Limits<'_>,
    price: Price,
) -> Result<(EvmContext, TxEnv), CallFailure> {
    let has_nonce = message.has_nonce();
    let tx = message.into_transaction(environment.chain_id())?;
    let meter = Meter::new(limits)?;
    let reader = reader.within(meter.deadline(), meter.turn());
    let mut context = environment.context(&tx, reader, price);
    context.cfg.disable_nonce_check = !(price == Price::Due && has_nonce);
    context.chain.meter = meter;
    if let Some(words) = stateful::predicates_refusal(&context) {
        return Err(CallFailure::Rejected(words));
    }
    message::check_form(&context, &tx)?;
    Ok((context, tx))
}

/// Return the address of the contract that the call creates.
pub(crate) fn created_address(
    context: &mut EvmContext,
    tx: &TxEnv,
) -> Result<Option<Address>, CallFailure> {
    match tx.kind {
        TxKind::Call(_) => Ok(None),
        TxKind::Create => {
            let nonce = context.db_mut().basic(tx.caller)?.unwrap_or_default().nonce;
            Ok(Some(tx.caller.create(nonce)))
        }
    }
}

fn excluded(
    context: &mut EvmContext,
    tx: &TxEnv,
    environment: &Environment,
) -> Result<AddressSet, CallFailure> {
    let recipient = match tx.kind {
        TxKind::Call(to) => Some(to),
        TxKind::Create => created_address(context, tx)?,
    };
    let authorities = tx.authorization_list.iter().filter_map(AuthorizationTr::authority);
    let precompiles = environment.precompiles();
    let precompiles = precompiles.warm_addresses().iter().copied();
    Ok(precompiles.chain(authorities).chain([tx.caller]).chain(recipient).collect())
}
