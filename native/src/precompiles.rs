//! Precompiles of a call or a block. A call may move some of them, and on a development chain the
//! signers of certain signatures are predefined.

use std::{collections::HashMap, sync::Arc};

use revm::{
    handler::{EthPrecompiles, PrecompileProvider, precompile_output_to_interpreter_result},
    interpreter::{CallInputs, Gas, InstructionResult, InterpreterResult},
    precompile::{secp256k1::ECRECOVER, utilities::right_pad},
    primitives::{Address, AddressMap, AddressSet, Bytes, hardfork::SpecId},
};

use crate::{
    assets,
    coreth::{self, DelegatedCalls},
    environment::EvmContext,
    precompile_errors, stateful,
};

/// Replacements of precompiles by address: another precompile, given by its address in the fork, or
/// none.
pub(crate) type Moves = Arc<AddressMap<Option<Address>>>;

/// The address that ecrecover returns for a signature (r, s, v), whatever was signed.
pub(crate) type Signers = Arc<HashMap<Bytes, Address>>;

/// A fork's precompiles after moves. The fork's own addresses are warm from the start, as in geth.
pub(crate) struct ChangedPrecompiles {
    of_fork: EthPrecompiles,
    moves: Moves,
    signers: Signers,
    /// Coreth's; None on a chain with Ethereum's EVM.
    features: Option<coreth::Features>,
}

impl ChangedPrecompiles {
    pub(crate) fn new(
        spec: SpecId,
        features: Option<coreth::Features>,
        moves: Moves,
        signers: Signers,
    ) -> Self {
        let mut of_fork = EthPrecompiles::new(spec);
        if let Some(features) = features {
            of_fork.precompiles = coreth::precompiles(spec, features);
        }
        Self { of_fork, moves, signers, features }
    }

    /// Return the predefined answer of a precompile to some input; None if it computes its answer.
    fn given(&self, origin: &Address, input: &[u8]) -> Option<Bytes> {
        if self.signers.is_empty() || origin != ECRECOVER.address() {
            return None;
        }
        let padded = right_pad::<128>(input);
        let signature = [&padded[64..], &padded[63..64]].concat();
        let signer = self.signers.get(signature.as_slice())?;
        Some(signer.into_word().into())
    }
}

/// Account for the gas of a precompile that ran with the gas that the meter allowed, and return the
/// result of the call.
fn metered(
    context: &mut EvmContext,
    inputs: &CallInputs,
    mut result: InterpreterResult,
    given: u64,
    limit: &'static str,
) -> Result<InterpreterResult, String> {
    let hidden = inputs.gas_limit - given;
    if result.result == InstructionResult::PrecompileOOG && hidden > 0 {
        return Err(limit.into());
    }
    if let Some(reached) = context.chain.meter.spend(result.gas.total_gas_spent()) {
        return Err(reached.into());
    }
    result.gas.tracker_mut().set_limit(inputs.gas_limit);
    if result.result.is_ok() || result.gas.remaining() > 0 {
        result.gas.set_remaining(result.gas.remaining() + hidden);
    }
    Ok(result)
}

impl PrecompileProvider<EvmContext> for ChangedPrecompiles {
    type Output = InterpreterResult;

    fn set_spec(&mut self, spec: SpecId) -> bool {
        PrecompileProvider::<EvmContext>::set_spec(&mut self.of_fork, spec)
    }

    /// Run a precompile. It charges its gas before it works, so it is limited to the gas that the
    /// meter allows.
    fn run(
        &mut self,
        context: &mut EvmContext,
        inputs: &CallInputs,
    ) -> Result<Option<InterpreterResult>, String> {
        let is_delegated = inputs.target_address != inputs.bytecode_address;
        let stateful = context.chain.stateful.clone();
        if is_delegated
            && self.features.is_some_and(|features| {
                features.delegated_calls() == DelegatedCalls::Invalid
                    && (features.is_at(&inputs.bytecode_address)
                        || stateful.as_ref().is_some_and(|one| one.is_at(&inputs.bytecode_address)))
            })
        {
            return Err(coreth::DELEGATED.into());
        }
        if let Some(stateful) = stateful.filter(|one| one.is_at(&inputs.bytecode_address)) {
            let (most, limit) = context.chain.meter.for_precompile();
            let given = inputs.gas_limit.min(most);
            let result = stateful::run(context, &stateful, inputs, given);
            return metered(context, inputs, result, given, limit).map(Some);
        }
        if assets::is_balance(context, inputs) {
            let (most, limit) = context.chain.meter.for_precompile();
            let given = inputs.gas_limit.min(most);
            let result = assets::balance(context, inputs, given);
            return metered(context, inputs, result, given, limit).map(Some);
        }
        let origin = match self.moves.get(&inputs.bytecode_address) {
            None => inputs.bytecode_address,
            Some(None) => return Ok(None),
            Some(Some(origin)) => *origin,
        };
        let Some(precompile) = self.of_fork.precompiles.get(&origin) else { return Ok(None) };
        if is_delegated
            && self.features.is_some_and(|features| {
                features.delegated_calls() == DelegatedCalls::Fail && features.is_at(&origin)
            })
        {
            return Ok(Some(InterpreterResult {
                result: InstructionResult::PrecompileError,
                output: Bytes::new(),
                gas: Gas::new_spent_with_reservoir(inputs.gas_limit, inputs.reservoir),
            }));
        }
        let (most, limit) = context.chain.meter.for_precompile();
        let given = inputs.gas_limit.min(most);
        let (output, words) = {
            let input = inputs.input.as_bytes(context);
            let mut output = precompile
                .execute(&input, given, inputs.reservoir)
                .map_err(|error| error.to_string())?;
            if output.is_success()
                && let Some(decreed) = self.given(&origin, &input)
            {
                output.bytes = decreed;
            }
            let is_examined = context.chain.notes.is_some() || context.journaled_state.depth == 1;
            let halt = output.halt_reason().filter(|_| is_examined);
            let words = halt.map(|halt| precompile_errors::words(&origin, &input, given, halt));
            (output, words)
        };
        if words.is_some() {
            context.chain.failure = words;
        }
        let result = precompile_output_to_interpreter_result(output, given);
        metered(context, inputs, result, given, limit).map(Some)
    }

    fn warm_addresses(&self) -> &AddressSet {
        self.of_fork.warm_addresses()
    }
}
