//! What a block sees of its surroundings: the port's `BlockEnv` as revm's block and rule set.

use pyo3::{exceptions::PyValueError, prelude::*};
use revm::{
    Context, Journal,
    context::{BlockEnv, CfgEnv, TxEnv},
    context_interface::block::BlobExcessGasAndPrice,
    primitives::{
        U256,
        eip4844::{BLOB_BASE_FEE_UPDATE_FRACTION_CANCUN, BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE},
        hardfork::SpecId,
    },
};

use crate::{
    convert::{Addr, Uint, Word},
    limits::Meter,
    overlay::Overlay,
};

/// The port's `BlockEnv`, attribute by attribute.
#[derive(FromPyObject)]
pub(crate) struct Env {
    fork: String,
    pub(crate) chain_id: u64,
    pub(crate) number: u64,
    timestamp: u64,
    coinbase: Addr,
    pub(crate) gas_limit: u64,
    pub(crate) base_fee: Option<u64>,
    prev_randao: Word,
    difficulty: Uint,
    excess_blob_gas: Option<u64>,
    blob_base_fee_update_fraction: Option<u64>,
    pub(crate) parent_hash: Word,
    pub(crate) parent_beacon_block_root: Option<Word>,
}

/// An EVM's surroundings, with the state it works on and a meter for calls that are limited.
pub(crate) type EvmContext = Context<BlockEnv, TxEnv, CfgEnv, Overlay, Journal<Overlay>, Meter>;

impl Env {
    /// The rule set by its name; names of geth and of the executable specification both do.
    pub(crate) fn spec(&self) -> PyResult<SpecId> {
        let name: String =
            self.fork.chars().filter(|c| c.is_ascii_alphanumeric()).collect::<String>();
        Ok(match name.to_ascii_lowercase().as_str() {
            "frontier" => SpecId::FRONTIER,
            "homestead" | "dao" | "daofork" => SpecId::HOMESTEAD,
            "tangerinewhistle" | "tangerine" | "eip150" => SpecId::TANGERINE,
            "spuriousdragon" | "eip155" | "eip158" => SpecId::SPURIOUS_DRAGON,
            "byzantium" => SpecId::BYZANTIUM,
            "constantinople" | "petersburg" | "constantinoplefix" => SpecId::PETERSBURG,
            "istanbul" | "muirglacier" => SpecId::ISTANBUL,
            "berlin" => SpecId::BERLIN,
            "london" | "arrowglacier" | "grayglacier" => SpecId::LONDON,
            "paris" | "merge" | "mergenetsplit" => SpecId::MERGE,
            "shanghai" => SpecId::SHANGHAI,
            "cancun" => SpecId::CANCUN,
            "prague" => SpecId::PRAGUE,
            "osaka" | "bpo1" | "bpo2" | "bpo3" | "bpo4" | "bpo5" => SpecId::OSAKA,
            _ => return Err(PyValueError::new_err(format!("unknown fork {}", self.fork))),
        })
    }

    /// The rules of a fork.
    pub(crate) fn rules(&self, spec: SpecId) -> CfgEnv {
        let mut rules = CfgEnv::new_with_spec(spec);
        rules.chain_id = self.chain_id;
        rules.blob_base_fee_update_fraction = self.blob_base_fee_update_fraction;
        rules
    }

    /// The block as its transactions see it.
    pub(crate) fn block(&self, spec: SpecId) -> BlockEnv {
        BlockEnv {
            number: U256::from(self.number),
            beneficiary: self.coinbase.0,
            timestamp: U256::from(self.timestamp),
            gas_limit: self.gas_limit,
            basefee: self.base_fee.unwrap_or_default(),
            difficulty: self.difficulty.0,
            prevrandao: spec.is_enabled_in(SpecId::MERGE).then_some(self.prev_randao.0),
            blob_excess_gas_and_price: spec
                .is_enabled_in(SpecId::CANCUN)
                .then(|| BlobExcessGasAndPrice::new(self.excess_blob_gas(), self.fraction(spec))),
            slot_num: 0,
        }
    }

    fn excess_blob_gas(&self) -> u64 {
        self.excess_blob_gas.unwrap_or_default()
    }

    fn fraction(&self, spec: SpecId) -> u64 {
        self.blob_base_fee_update_fraction.unwrap_or(if spec.is_enabled_in(SpecId::PRAGUE) {
            BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE
        } else {
            BLOB_BASE_FEE_UPDATE_FRACTION_CANCUN
        })
    }
}

/// Put block, rules and state together.
pub(crate) fn context(state: Overlay, block: BlockEnv, rules: CfgEnv) -> EvmContext {
    let mut context = EvmContext::new(state, rules.spec);
    context.block = block;
    context.cfg = rules;
    context
}
