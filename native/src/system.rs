//! The system calls of a fork before and after a block's transactions, and the resulting requests.
//!
//! A contract that is not deployed on this chain is not called and makes no requests.

use alloy_eips::{
    eip2935::HISTORY_STORAGE_ADDRESS, eip4788::BEACON_ROOTS_ADDRESS,
    eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
    eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, eip7685::Requests,
};
use revm::{
    DatabaseCommit, SystemCallEvm,
    context_interface::{
        ContextTr,
        result::{EVMError, ExecutionResult},
    },
    primitives::{Address, B256, Bytes, Log, address, b256, hardfork::SpecId},
};

use crate::{block::BlockEvm, environment::Env, reader::ReaderError};

/// The deposit contract of Ethereum's mainnet, whose logs the specification reads.
const DEPOSIT_CONTRACT: Address = address!("0x00000000219ab540356cbb839cbe05303d7705fa");
/// `DepositEvent(bytes,bytes,bytes,bytes,bytes)`.
const DEPOSIT_TOPIC: B256 =
    b256!("0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5");
/// The event's five fields: offset in the data, and length.
const DEPOSIT_FIELDS: [(usize, usize); 5] = [(192, 48), (288, 32), (352, 8), (416, 96), (544, 8)];
const DEPOSIT_DATA_LENGTH: usize = 576;

const DEPOSIT_REQUEST: u8 = 0;
const WITHDRAWAL_REQUEST: u8 = 1;
const CONSOLIDATION_REQUEST: u8 = 2;

/// The reason why a system call failed.
pub(crate) enum SystemFailure {
    /// The state could not be read.
    Reader(ReaderError),
    /// The block is invalid; the error message.
    Block(String),
}

impl From<ReaderError> for SystemFailure {
    fn from(error: ReaderError) -> Self {
        Self::Reader(error)
    }
}

/// Store the parent's hashes in their contracts (EIP-4788, EIP-2935); failures of these contracts
/// are ignored.
pub(crate) fn before_transactions(
    evm: &mut BlockEvm,
    env: &Env,
    spec: SpecId,
) -> Result<(), SystemFailure> {
    if env.number == 0 {
        return Ok(());
    }
    if spec.is_enabled_in(SpecId::CANCUN)
        && let Some(root) = &env.parent_beacon_block_root
    {
        call(evm, BEACON_ROOTS_ADDRESS, root.0.0.into())?;
    }
    if spec.is_enabled_in(SpecId::PRAGUE) {
        call(evm, HISTORY_STORAGE_ADDRESS, env.parent_hash.0.0.into())?;
    }
    Ok(())
}

/// Return the hash of the block's requests (EIP-6110, EIP-7002, EIP-7251; EIP-7685).
pub(crate) fn after_transactions<'log>(
    evm: &mut BlockEvm,
    logs: impl Iterator<Item = &'log Log>,
) -> Result<B256, SystemFailure> {
    let mut requests = Requests::default();
    requests.push_request_with_type(DEPOSIT_REQUEST, deposits(logs)?);
    for (kind, contract) in [
        (WITHDRAWAL_REQUEST, WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS),
        (CONSOLIDATION_REQUEST, CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS),
    ] {
        match call(evm, contract, Bytes::new())? {
            None => {}
            Some(ExecutionResult::Success { output, .. }) => {
                requests.push_request_with_type(kind, output.into_data());
            }
            Some(_) => {
                return Err(SystemFailure::Block(format!(
                    "system call failed to execute: {contract}"
                )));
            }
        }
    }
    Ok(requests.requests_hash())
}

/// Call a contract as the system, if it is deployed.
fn call(
    evm: &mut BlockEvm,
    contract: Address,
    data: Bytes,
) -> Result<Option<ExecutionResult>, SystemFailure> {
    if !evm.ctx.db_mut().has_code(contract)? {
        return Ok(None);
    }
    match evm.system_call(contract, data) {
        Ok(outcome) => {
            evm.ctx.db_mut().commit(outcome.state);
            Ok(Some(outcome.result))
        }
        Err(EVMError::Database(error)) => Err(error.into()),
        Err(error) => Err(SystemFailure::Block(format!("system call failed: {error}"))),
    }
}

fn deposits<'log>(logs: impl Iterator<Item = &'log Log>) -> Result<Vec<u8>, SystemFailure> {
    let mut requests = Vec::new();
    for log in logs {
        if log.address != DEPOSIT_CONTRACT || log.topics().first() != Some(&DEPOSIT_TOPIC) {
            continue;
        }
        let data = &log.data.data;
        if data.len() != DEPOSIT_DATA_LENGTH {
            return Err(SystemFailure::Block(format!(
                "deposit wrong length: want {DEPOSIT_DATA_LENGTH}, have {}",
                data.len()
            )));
        }
        for (start, length) in DEPOSIT_FIELDS {
            requests.extend_from_slice(&data[start..start + length]);
        }
    }
    Ok(requests)
}
