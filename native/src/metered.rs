//! Instructions that look at the meter: JUMPDEST, which every loop passes, and all that take
//! longer than a few nanoseconds. The others are as fast as without limits, and no more of them
//! stand in a row than code has bytes.

use revm::{
    bytecode::opcode::*,
    handler::instructions::EthInstructions,
    interpreter::{
        Instruction, InstructionContext, InstructionExecResult, InstructionResult,
        InstructionTable, Interpreter, instruction_table,
        instructions::{arithmetic, contract, control, gas_table_spec, host, memory, system},
        interpreter::EthInterpreter,
        interpreter_types::MemoryTr,
        num_words,
    },
    primitives::{U256, hardfork::SpecId},
};

use crate::{
    environment::EvmContext,
    limits::{self, GAS},
};

type Context<'a> = InstructionContext<'a, EvmContext, EthInterpreter>;

/// Where the stack says which memory an instruction needs: offset and length, from the top.
type Places = &'static [(usize, usize)];

const OUTPUT: Places = &[(0, 1)];
const INIT_CODE: Places = &[(1, 2)];
const CALL_WITH_VALUE: Places = &[(3, 4), (5, 6)];
const CALL_WITHOUT_VALUE: Places = &[(2, 3), (4, 5)];

/// Look at the limits, then run the instruction.
#[inline(always)]
fn timed(
    context: Context<'_>,
    run: impl Fn(Context<'_>) -> InstructionExecResult,
) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    look(interpreter, host)?;
    run(InstructionContext { interpreter, host })
}

#[inline(always)]
fn look(interpreter: &Interpreter<EthInterpreter>, host: &mut EvmContext) -> InstructionExecResult {
    let remaining = interpreter.gas.remaining();
    if host.chain.is_due(remaining)
        && let Some(limit) = host.chain.settle(remaining)
    {
        return Err(limits::interrupt(host, limit));
    }
    Ok(())
}

/// Run an instruction that pays before it works, if the allowance is enough for it: while it runs
/// it has no more gas than that. It must not look at how much it has.
#[inline(always)]
fn afforded(
    context: Context<'_>,
    run: impl Fn(Context<'_>) -> InstructionExecResult,
) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    look(interpreter, host)?;
    let remaining = interpreter.gas.remaining();
    let allowed = host.chain.left(remaining);
    let Some(hidden) = remaining.checked_sub(allowed) else {
        return run(InstructionContext { interpreter, host });
    };
    interpreter.gas.set_remaining(allowed);
    match run(InstructionContext { interpreter, host: &mut *host }) {
        Err(
            InstructionResult::OutOfGas
            | InstructionResult::MemoryOOG
            | InstructionResult::MemoryLimitOOG,
        ) => {
            interpreter.gas.set_remaining(remaining);
            Err(limits::interrupt(host, GAS))
        }
        outcome => {
            interpreter.gas.set_remaining(interpreter.gas.remaining() + hidden);
            outcome
        }
    }
}

/// Run an instruction that looks at its gas, if the allowance is enough for its memory.
#[inline(always)]
fn roomy(
    context: Context<'_>,
    places: Places,
    run: impl Fn(Context<'_>) -> InstructionExecResult,
) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    look(interpreter, host)?;
    let remaining = interpreter.gas.remaining();
    let allowed = host.chain.left(remaining);
    if allowed < remaining && !places.iter().all(|place| has_room(interpreter, *place, allowed)) {
        return Err(limits::interrupt(host, GAS));
    }
    run(InstructionContext { interpreter, host })
}

/// Whether memory is as large already, or can grow to that for so much gas.
fn has_room(
    interpreter: &Interpreter<EthInterpreter>,
    (offset, length): (usize, usize),
    allowed: u64,
) -> bool {
    let peek = |depth| interpreter.stack.peek(depth).unwrap_or(U256::ZERO);
    let length = peek(length);
    if length.is_zero() {
        return true;
    }
    let end = usize::try_from(peek(offset).saturating_add(length)).unwrap_or(usize::MAX);
    let words = num_words(end) as u64;
    end <= interpreter.memory.size()
        || words.saturating_mul(words) / 512 + words.saturating_mul(3) <= allowed
}

macro_rules! insert {
    ($table:ident, $how:ident, $($opcode:ident => $run:expr),+ $(,)?) => {
        $($table[$opcode as usize] = Instruction::new(|context| $how(context, $run));)+
    };
    ($table:ident, $how:ident of $places:ident, $($opcode:ident => $run:expr),+ $(,)?) => {
        $($table[$opcode as usize] = Instruction::new(|context| $how(context, $places, $run));)+
    };
}

const TABLE: InstructionTable<EthInterpreter, EvmContext> = {
    let mut table = instruction_table();
    insert!(table, timed,
        JUMPDEST => control::jumpdest,
        DIV => arithmetic::div,
        SDIV => arithmetic::sdiv,
        MOD => arithmetic::rem,
        SMOD => arithmetic::smod,
        ADDMOD => arithmetic::addmod,
        MULMOD => arithmetic::mulmod,
        BALANCE => host::balance,
        SELFBALANCE => host::selfbalance,
        EXTCODESIZE => host::extcodesize,
        EXTCODEHASH => host::extcodehash,
        BLOCKHASH => host::blockhash,
        SLOAD => host::sload,
        SSTORE => host::sstore,
        TLOAD => host::tload,
        TSTORE => host::tstore,
    );
    insert!(table, afforded,
        EXP => arithmetic::exp,
        KECCAK256 => system::keccak256,
        CALLDATACOPY => system::calldatacopy,
        CODECOPY => system::codecopy,
        RETURNDATACOPY => system::returndatacopy,
        EXTCODECOPY => host::extcodecopy,
        MCOPY => memory::mcopy,
        LOG0 => host::log::<0, _>,
        LOG1 => host::log::<1, _>,
        LOG2 => host::log::<2, _>,
        LOG3 => host::log::<3, _>,
        LOG4 => host::log::<4, _>,
    );
    insert!(table, roomy of OUTPUT, RETURN => control::ret, REVERT => control::revert);
    insert!(table, roomy of INIT_CODE,
        CREATE => contract::create::<false, _, _>,
        CREATE2 => contract::create::<true, _, _>,
    );
    insert!(table, roomy of CALL_WITH_VALUE,
        CALL => contract::call::<CALL, _, _>,
        CALLCODE => contract::call::<CALLCODE, _, _>,
    );
    insert!(table, roomy of CALL_WITHOUT_VALUE,
        DELEGATECALL => contract::call::<DELEGATECALL, _, _>,
        STATICCALL => contract::call::<STATICCALL, _, _>,
    );
    table
};

/// A fork's instructions, metered.
pub(crate) fn instructions(spec: SpecId) -> EthInstructions<EthInterpreter, EvmContext> {
    EthInstructions::new(TABLE, gas_table_spec(spec), spec)
}
