//! Limits of a call: how many instructions it may take, and for how long it may run.
//!
//! Time is looked at in JUMPDEST, which every loop passes: the rest of the interpreter runs as
//! fast as without a limit. Instructions are counted by an inspector, exactly and slowly.

use std::time::Instant;

use revm::{
    Inspector,
    bytecode::opcode::JUMPDEST,
    context_interface::context::ContextError,
    handler::instructions::EthInstructions,
    interpreter::{
        Instruction, InstructionContext, InstructionExecResult, InstructionResult, Interpreter,
        interpreter::EthInterpreter,
    },
};

use crate::environment::EvmContext;

/// The clock is read once in so many jumps.
const PATIENCE: u32 = 256;

/// Gas of a JUMPDEST, in every fork.
const JUMPDEST_GAS: u16 = 1;

/// What an interrupted run ends with, as revm's custom error.
const STEPS: &str = "step limit reached";
const TIME: &str = "time limit reached";

/// Which limit a custom error of revm means, if it means one.
pub(crate) fn reached(words: &str) -> Option<&'static str> {
    [STEPS, TIME].into_iter().find(|limit| *limit == words)
}

/// When a run has to end.
#[derive(Default)]
pub(crate) struct Meter {
    deadline: Option<Instant>,
    ticks: u32,
}

impl Meter {
    pub(crate) fn new(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ticks: 0 }
    }

    /// Whether time is up, looked at now and then.
    fn tick(&mut self) -> bool {
        self.ticks = self.ticks.wrapping_add(1);
        self.ticks.is_multiple_of(PATIENCE)
            && self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

fn interrupt(context: &mut EvmContext, limit: &str) -> InstructionResult {
    context.error = Err(ContextError::Custom(limit.into()));
    InstructionResult::FatalExternalError
}

fn timed_jumpdest(
    context: InstructionContext<'_, EvmContext, EthInterpreter>,
) -> InstructionExecResult {
    if context.host.chain.tick() { Err(interrupt(context.host, TIME)) } else { Ok(()) }
}

/// Make JUMPDEST look at the context's meter.
pub(crate) fn watch_time(instructions: &mut EthInstructions<EthInterpreter, EvmContext>) {
    instructions.insert_instruction(JUMPDEST, Instruction::new(timed_jumpdest), JUMPDEST_GAS);
}

/// Ends a run after so many instructions.
pub(crate) struct StepLimit {
    pub(crate) left: u64,
}

impl Inspector<EvmContext> for StepLimit {
    #[inline]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext) {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => interpreter.halt(interrupt(context, STEPS)),
        }
    }
}
