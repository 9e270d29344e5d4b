//! Precompiles of a call, some of which its caller may have moved.

use std::sync::Arc;

use revm::{
    context_interface::{Cfg, ContextTr},
    handler::{EthPrecompiles, PrecompileProvider},
    interpreter::{CallInputs, InterpreterResult},
    primitives::{Address, AddressMap, AddressSet, hardfork::SpecId},
};

/// What stands at an address instead of what the fork has there: another precompile, by the
/// address that the fork gives it, or none.
pub(crate) type Moves = Arc<AddressMap<Option<Address>>>;

/// A fork's precompiles, after moves. Warm from the beginning are the fork's addresses, as in geth.
pub(crate) struct MovedPrecompiles {
    of_fork: EthPrecompiles,
    moves: Moves,
}

impl MovedPrecompiles {
    pub(crate) fn new(spec: SpecId, moves: Moves) -> Self {
        Self { of_fork: EthPrecompiles::new(spec), moves }
    }
}

impl<CTX: ContextTr<Cfg: Cfg<Spec = SpecId>>> PrecompileProvider<CTX> for MovedPrecompiles {
    type Output = InterpreterResult;

    fn set_spec(&mut self, spec: SpecId) -> bool {
        PrecompileProvider::<CTX>::set_spec(&mut self.of_fork, spec)
    }

    fn run(
        &mut self,
        context: &mut CTX,
        inputs: &CallInputs,
    ) -> Result<Option<InterpreterResult>, String> {
        match self.moves.get(&inputs.bytecode_address) {
            None => self.of_fork.run(context, inputs),
            Some(None) => Ok(None),
            Some(Some(origin)) => {
                let moved = CallInputs { bytecode_address: *origin, ..inputs.clone() };
                self.of_fork.run(context, &moved)
            }
        }
    }

    fn warm_addresses(&self) -> &AddressSet {
        self.of_fork.warm_addresses()
    }
}
