//! Geth's error messages for transactions that cannot be in a block.

use revm::{
    context::{CfgEnv, TxEnv},
    context_interface::{Cfg, result::InvalidTransaction},
    primitives::U256,
};

/// A reason, and whether a later block may include the transaction.
#[derive(Debug)]
pub(crate) struct Rejection {
    pub(crate) reason: String,
    pub(crate) retry: bool,
}

/// The transaction needs more gas than the block has left.
pub(crate) fn block_full(retry: bool) -> Rejection {
    Rejection { reason: "gas limit reached".into(), retry }
}

/// The transaction has more blobs than the fork allows.
pub(crate) fn too_many_blobs(tx: &TxEnv, most: usize) -> Rejection {
    let (sender, count) = (tx.caller, tx.blob_hashes.len());
    Rejection {
        reason: format!(
            "blob transaction has too many blobs: address {sender}, blobs: {count}, max: {most}"
        ),
        retry: false,
    }
}

/// The envelope cannot be decoded.
pub(crate) fn malformed(error: &str) -> Rejection {
    Rejection { reason: format!("malformed transaction: {error}"), retry: false }
}

/// Return geth's message for a transaction that the EVM rejected, including the values in that
/// message.
pub(crate) fn refused(
    error: &InvalidTransaction,
    tx: &TxEnv,
    rules: &CfgEnv,
    base_fee: u64,
) -> Rejection {
    use InvalidTransaction as Invalid;
    let retry = matches!(
        error,
        Invalid::NonceTooHigh { .. }
            | Invalid::GasPriceLessThanBasefee
            | Invalid::BlobGasPriceGreaterThanMax { .. }
    );
    let sender = tx.caller;
    let reason = match error {
        Invalid::NonceTooHigh { tx, state } => {
            format!("nonce too high: address {sender}, tx: {tx} state: {state}")
        }
        Invalid::NonceTooLow { tx, state } => {
            format!("nonce too low: address {sender}, tx: {tx} state: {state}")
        }
        Invalid::NonceOverflowInTransaction => {
            format!("nonce has max value: address {sender}, nonce: {}", tx.nonce)
        }
        Invalid::GasPriceLessThanBasefee => fee_below_base_fee(tx, base_fee),
        Invalid::PriorityFeeGreaterThanMaxFee => tip_above_cap(tx),
        Invalid::LackOfFundForMaxFee { fee, balance } => insufficient_funds(tx, balance, fee),
        Invalid::OverflowPaymentInTransaction => format!(
            "insufficient funds for gas * price + value: address {sender} required balance \
             exceeds 256 bits"
        ),
        Invalid::CallGasCostMoreThanGasLimit { initial_gas, gas_limit } => {
            format!("intrinsic gas too low: have {gas_limit}, want {initial_gas}")
        }
        Invalid::GasFloorMoreThanGasLimit { gas_floor, gas_limit } => {
            format!("insufficient gas for floor data gas cost: have {gas_limit}, want {gas_floor}")
        }
        Invalid::CreateInitCodeSizeLimit => format!(
            "max initcode size exceeded: code size {} limit {}",
            tx.data.len(),
            rules.max_initcode_size()
        ),
        Invalid::TxGasLimitGreaterThanCap { gas_limit, cap } => {
            format!("transaction gas limit too high (cap: {cap}, tx: {gas_limit})")
        }
        Invalid::RejectCallerWithCode => format!("sender not an eoa: address {sender}"),
        Invalid::InvalidChainId => format!(
            "invalid chain id for signer: have {} want {}",
            tx.chain_id.unwrap_or_default(),
            rules.chain_id
        ),
        Invalid::CallerGasLimitMoreThanBlock => block_full(false).reason,
        Invalid::EmptyAuthorizationList => {
            format!("EIP-7702 transaction with empty auth list (sender {sender})")
        }
        Invalid::BlobCreateTransaction => "blob transaction of type create".into(),
        Invalid::EmptyBlobs => "blob transaction missing blob hashes".into(),
        Invalid::BlobGasPriceGreaterThanMax { block_blob_gas_price, tx_max_fee_per_blob_gas } => {
            format!(
                "max fee per blob gas less than block blob gas fee: address {sender} \
                 blobGasFeeCap: {tx_max_fee_per_blob_gas}, blobBaseFee: {block_blob_gas_price}"
            )
        }
        Invalid::Eip2930NotSupported
        | Invalid::Eip1559NotSupported
        | Invalid::Eip4844NotSupported
        | Invalid::Eip7702NotSupported => "transaction type not supported".into(),
        other => other.to_string(),
    };
    Rejection { reason, retry }
}

/// Return the message for a sender that cannot pay.
pub(crate) fn insufficient_funds(tx: &TxEnv, balance: &U256, cost: &U256) -> String {
    format!(
        "insufficient funds for gas * price + value: address {} have {balance} want {cost}",
        tx.caller
    )
}

fn fee_below_base_fee(tx: &TxEnv, base_fee: u64) -> String {
    format!(
        "max fee per gas less than block base fee: address {}, maxFeePerGas: {}, baseFee: \
         {base_fee}",
        tx.caller, tx.gas_price
    )
}

/// Return the message for a tip above the fee cap.
pub(crate) fn tip_above_cap(tx: &TxEnv) -> String {
    format!(
        "max priority fee per gas higher than max fee per gas: address {}, \
         maxPriorityFeePerGas: {}, maxFeePerGas: {}",
        tx.caller,
        tx.gas_priority_fee.unwrap_or_default(),
        tx.gas_price
    )
}
