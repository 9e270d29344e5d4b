//! The environment of a block: the port's `BlockEnv` as revm's block and rule set.

use std::{borrow::Cow, sync::Arc};

use pyo3::{exceptions::PyValueError, prelude::*};
use revm::{
    Context, Journal,
    context::{BlockEnv, CfgEnv, TxEnv},
    context_interface::block::BlobExcessGasAndPrice,
    primitives::{
        AddressMap, Bytes, U256,
        eip4844::{BLOB_BASE_FEE_UPDATE_FRACTION_CANCUN, BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE},
        hardfork::SpecId,
    },
};

use crate::{
    assets::AssetCall,
    convert::{Addr, Blob, Uint, Word},
    coreth,
    limits::Meter,
    overlay::Overlay,
    precompiles::{ChangedPrecompiles, Moves, Signers},
    reader::Reader,
    stateful::{Stateful, TransactionPredicates},
    trace::Notes,
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
    blob_base_fee: Option<u128>,
    precompile_moves: Vec<(Addr, Option<Addr>)>,
    signers: Vec<(Blob, Addr)>,
    limits: ExecutionLimits,
    #[pyo3(from_py_with = shared)]
    pub(crate) stateful: Arc<Stateful>,
    #[pyo3(attribute("variant"), from_py_with = is_coreth)]
    is_coreth: bool,
    #[pyo3(attribute("coreth"))]
    features: coreth::Features,
}

fn is_coreth(variant: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(variant.extract::<String>()? == "coreth")
}

/// Return a value that many contexts can share.
fn shared(object: &Bound<'_, PyAny>) -> PyResult<Arc<Stateful>> {
    object.extract().map(Arc::new)
}

/// The chain's limits of gas, code and memory.
#[derive(FromPyObject)]
struct ExecutionLimits {
    /// Whether a transaction has at most EIP-7825's gas.
    transaction_gas: bool,
    /// Whether the transactions of a block must fit into its gas limit.
    block_gas: bool,
    /// Bytes of code that a contract may have.
    code_size: usize,
    /// Bytes of memory that nested frames may have together.
    memory: Option<u64>,
}

/// Data that accompanies an execution and is not known to revm.
#[derive(Default)]
pub(crate) struct Attached {
    /// Counts gas and time of limited calls.
    pub(crate) meter: Meter,
    /// Notes of the instructions of a traced execution.
    pub(crate) notes: Option<Box<Notes>>,
    /// Geth's error message for the last failure, if revm's reason is too coarse: for precompiles
    /// that are the top call or traced, for CREATE with too much init code, and for creations that
    /// the deployer allow list forbids.
    pub(crate) failure: Option<Cow<'static, str>>,
    /// The stateful precompiles in force; None: none are.
    pub(crate) stateful: Option<Arc<Stateful>>,
    /// The warp messages of the transaction.
    pub(crate) predicates: Option<Arc<TransactionPredicates>>,
    /// What differs in coreth's EVM; None on a chain with Ethereum's.
    pub(crate) coreth: Option<coreth::Features>,
    /// The calls of coreth's contract that moves assets, outermost first, that wait for the call that
    /// they made.
    pub(crate) asset_calls: Vec<AssetCall>,
}

/// An EVM's context, including the state.
pub(crate) type EvmContext = Context<BlockEnv, TxEnv, CfgEnv, Overlay, Journal<Overlay>, Attached>;

impl Env {
    /// Return the rule set by the fork's name in geth or in the executable specification.
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

    /// Return the rules of a fork.
    pub(crate) fn rules(&self, spec: SpecId) -> CfgEnv {
        let mut rules = CfgEnv::new_with_spec(spec);
        rules.chain_id = self.chain_id;
        rules.blob_base_fee_update_fraction = self.blob_base_fee_update_fraction;
        rules.limit_contract_code_size = Some(self.limits.code_size);
        rules.memory_limit = self.limits.memory.unwrap_or(u64::MAX);
        rules.disable_block_gas_limit = !self.limits.block_gas;
        if !self.limits.transaction_gas {
            rules.tx_gas_limit_cap = Some(u64::MAX);
        }
        if self.is_coreth {
            coreth::adapt(&mut rules, self.features);
        }
        rules
    }

    /// Return the gas that is left in the block after its transactions have used this much.
    pub(crate) fn gas_left(&self, used: u64) -> u64 {
        if self.limits.block_gas { self.gas_limit.saturating_sub(used) } else { u64::MAX }
    }

    /// Return the block as revm's type.
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
                .then(|| self.blob_price(spec)),
            slot_num: 0,
        }
    }

    fn blob_price(&self, spec: SpecId) -> BlobExcessGasAndPrice {
        let mut price = BlobExcessGasAndPrice::new(self.excess_blob_gas(), self.fraction(spec));
        if let Some(overridden) = self.blob_base_fee {
            price.blob_gasprice = overridden;
        }
        price
    }

    /// Return the precompiles of a fork with the changes of this environment.
    pub(crate) fn precompiles(&self, spec: SpecId) -> ChangedPrecompiles {
        ChangedPrecompiles::new(spec, self.own_features(), self.moves(), self.signers())
    }

    /// Return coreth's features; None on a chain with Ethereum's EVM.
    pub(crate) fn own_features(&self) -> Option<coreth::Features> {
        self.is_coreth.then_some(self.features)
    }

    fn moves(&self) -> Moves {
        let mut moves: AddressMap<_> =
            self.precompile_moves.iter().map(|(from, _)| (from.0, None)).collect();
        for (from, to) in &self.precompile_moves {
            if let Some(to) = to {
                moves.insert(to.0, Some(from.0));
            }
        }
        moves.into()
    }

    fn signers(&self) -> Signers {
        let signers =
            self.signers.iter().map(|(signature, signer)| (signature.0.clone(), signer.0));
        Signers::new(signers.collect())
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

/// How a call without a gas price is treated, and whether it pays the base fee.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Price {
    /// Without a gas price, BASEFEE returns 0.
    Usual,
    /// Without a gas price the call pays nothing, and BASEFEE returns the block's base fee.
    Free,
    /// The call pays the base fee like a transaction.
    Due,
}

/// The environment of calls, which many calls can share.
///
/// The checks of nonce, EIP-3607, EIP-7825 and the block's gas limit do not apply to calls.
#[pyclass(frozen)]
pub(crate) struct Environment {
    pub(crate) spec: SpecId,
    block: BlockEnv,
    rules: CfgEnv,
    moves: Moves,
    signers: Signers,
    stateful: Arc<Stateful>,
    features: Option<coreth::Features>,
}

#[pymethods]
impl Environment {
    #[new]
    pub(crate) fn new(env: Env) -> PyResult<Self> {
        let spec = env.spec()?;
        let mut rules = env.rules(spec);
        rules.disable_nonce_check = true;
        rules.disable_eip3607 = true;
        rules.disable_block_gas_limit = true;
        rules.tx_gas_limit_cap = Some(u64::MAX);
        Ok(Self {
            spec,
            block: env.block(spec),
            rules,
            moves: env.moves(),
            signers: env.signers(),
            features: env.own_features(),
            stateful: env.stateful,
        })
    }
}

impl Environment {
    pub(crate) fn chain_id(&self) -> u64 {
        self.rules.chain_id
    }

    pub(crate) fn precompiles(&self) -> ChangedPrecompiles {
        let (moves, signers) = (self.moves.clone(), self.signers.clone());
        ChangedPrecompiles::new(self.spec, self.features, moves, signers)
    }

    /// Return the warp messages of the call for which this environment was made.
    fn predicates(&self) -> Option<Arc<TransactionPredicates>> {
        self.stateful.predicates_of(Bytes::new)
    }

    /// Return the context of a call; its blobs cost nothing.
    pub(crate) fn context(&self, tx: &TxEnv, reader: Reader, price: Price) -> EvmContext {
        let mut block = self.block.clone();
        let mut rules = self.rules.clone();
        match price {
            Price::Usual if tx.gas_price == 0 => block.basefee = 0,
            Price::Free if tx.gas_price == 0 => rules.disable_base_fee = true,
            _ => {}
        }
        if !tx.blob_hashes.is_empty()
            && let Some(blobs) = &mut block.blob_excess_gas_and_price
        {
            blobs.blob_gasprice = 0;
        }
        let state = Overlay::passing(reader, self.spec, self.features);
        let mut context = context(state, block, rules, &self.stateful, self.features);
        context.chain.predicates = self.predicates();
        context
    }
}

/// Combine block, rules, precompiles and state in a context.
pub(crate) fn context(
    state: Overlay,
    block: BlockEnv,
    rules: CfgEnv,
    stateful: &Arc<Stateful>,
    features: Option<coreth::Features>,
) -> EvmContext {
    let mut context = EvmContext::new(state, rules.spec);
    context.block = block;
    context.cfg = rules;
    context.chain.coreth = features;
    context.chain.stateful = stateful.is_any().then(|| Arc::clone(stateful));
    context
}
