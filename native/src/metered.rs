//! Instructions that look at the meter: JUMPDEST, which every loop passes, and all that take
//! longer than a few nanoseconds. The others are as fast as without limits, and no more of them
//! stand in a row than code has bytes.

use revm::{
    bytecode::opcode::*,
    context_interface::Cfg,
    handler::instructions::EthInstructions,
    interpreter::{
        Instruction, InstructionContext, InstructionExecResult, InstructionResult,
        InstructionTable, Interpreter, instruction_table,
        instructions::{arithmetic, contract, control, gas_table_spec, host, memory, system},
        interpreter::EthInterpreter,
        interpreter_types::{MemoryTr, ReturnData},
        num_words,
    },
    primitives::{
        U256,
        hardfork::SpecId::{self, BYZANTIUM, CANCUN, FRONTIER, HOMESTEAD, PETERSBURG},
    },
};

use crate::{
    environment::EvmContext,
    limits::{self, GAS},
};

type Context<'a> = InstructionContext<'a, EvmContext, EthInterpreter>;

/// Where the stack says which memory an instruction needs: offset and length, from the top.
type Places = &'static [(usize, usize)];

/// The fork that brought an instruction, how many items it takes, and its places.
type Needs = (SpecId, usize, Places);

const NOWHERE: Places = &[];
const COPIED: Places = &[(0, 2)];
const MOVED: Places = &[(0, 2), (1, 2)];
const CODE_COPIED: Places = &[(1, 3)];
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
    if host.chain.meter.is_due(remaining)
        && let Some(limit) = host.chain.meter.settle(remaining)
    {
        return Err(limits::interrupt(host, limit));
    }
    Ok(())
}

/// Refuse an instruction that has too few items, or whose memory has no number of 64 bits. Both
/// come before gas in geth; revm takes items one after another, and asks for gas in between.
#[inline(always)]
fn check(interpreter: &Interpreter<EthInterpreter>, needs: Needs) -> InstructionExecResult {
    let (fork, items, places) = needs;
    if interpreter.stack.len() < items {
        return refuse(interpreter, fork, InstructionResult::StackUnderflow);
    }
    let peek = |depth| interpreter.stack.peek(depth).unwrap_or(U256::ZERO);
    for (offset, length) in places {
        let length = peek(*length);
        if !length.is_zero() && (length | peek(*offset)).bit_len() > 64 {
            return refuse(interpreter, fork, InstructionResult::InvalidOperandOOG);
        }
    }
    Ok(())
}

/// An instruction that the fork does not have is no more than that.
#[cold]
fn refuse(
    interpreter: &Interpreter<EthInterpreter>,
    since: SpecId,
    why: InstructionResult,
) -> InstructionExecResult {
    let exists = interpreter.runtime_flag.spec_id.is_enabled_in(since);
    Err(if exists { why } else { InstructionResult::NotActivated })
}

/// Run an instruction that pays before it works, if the allowance is enough for it: while it runs
/// it has no more gas than that. It must not look at how much it has.
#[inline(always)]
fn afforded(
    context: Context<'_>,
    needs: Needs,
    run: impl Fn(Context<'_>) -> InstructionExecResult,
) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    check(interpreter, needs)?;
    look(interpreter, host)?;
    let remaining = interpreter.gas.remaining();
    let allowed = host.chain.meter.left(remaining);
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
    needs: Needs,
    run: impl Fn(Context<'_>) -> InstructionExecResult,
) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    check(interpreter, needs)?;
    look(interpreter, host)?;
    let remaining = interpreter.gas.remaining();
    let allowed = host.chain.meter.left(remaining);
    if allowed < remaining && !needs.2.iter().all(|place| has_room(interpreter, *place, allowed)) {
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

/// Geth wants the gas first, and then looks whether there is so much data.
fn returndatacopy(context: Context<'_>) -> InstructionExecResult {
    let interpreter = &context.interpreter;
    let [to, from, length] =
        [0, 1, 2].map(|depth| interpreter.stack.peek(depth).unwrap_or_default());
    let exists = interpreter.runtime_flag.spec_id.is_enabled_in(BYZANTIUM);
    if exists && from.saturating_add(length) > U256::from(interpreter.return_data.buffer().len()) {
        let (to, length) = (to.saturating_to::<u64>(), length.saturating_to::<u64>());
        let end = if length == 0 { 0 } else { u128::from(to) + u128::from(length) };
        let copying = context.host.cfg.gas_params().copy_cost(length as usize);
        let cost = copying.saturating_add(growth(interpreter.memory.size(), end));
        if cost > interpreter.gas.remaining() {
            return Err(InstructionResult::OutOfGas);
        }
    }
    system::returndatacopy(context)
}

/// Gas for memory of one size to become memory up to some place, exact up to 64 bits.
pub(crate) fn growth(size: usize, end: u128) -> u64 {
    let gas = |words: u128| 3 * words + words * words / 512;
    let more = gas(end.div_ceil(32)).saturating_sub(gas(num_words(size) as u128));
    u64::try_from(more).unwrap_or(u64::MAX)
}

macro_rules! insert {
    ($table:ident, $how:ident, $($opcode:ident => $run:expr),+ $(,)?) => {
        $($table[$opcode as usize] = Instruction::new(|context| $how(context, $run));)+
    };
    ($table:ident, $how:ident of $needs:expr, $($opcode:ident => $run:expr),+ $(,)?) => {
        $($table[$opcode as usize] = Instruction::new(|context| $how(context, $needs, $run));)+
    };
}

/// All instructions of all forks.
pub(crate) const TABLE: InstructionTable<EthInterpreter, EvmContext> = {
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
    insert!(table, afforded of (FRONTIER, 2, NOWHERE), EXP => arithmetic::exp);
    insert!(table, afforded of (FRONTIER, 2, OUTPUT), KECCAK256 => system::keccak256);
    insert!(table, afforded of (FRONTIER, 3, COPIED),
        CALLDATACOPY => system::calldatacopy,
        CODECOPY => system::codecopy,
    );
    insert!(table, afforded of (BYZANTIUM, 3, COPIED), RETURNDATACOPY => returndatacopy);
    insert!(table, afforded of (FRONTIER, 4, CODE_COPIED), EXTCODECOPY => host::extcodecopy);
    insert!(table, afforded of (CANCUN, 3, MOVED), MCOPY => memory::mcopy);
    insert!(table, afforded of (FRONTIER, 2, OUTPUT), LOG0 => host::log::<0, _>);
    insert!(table, afforded of (FRONTIER, 3, OUTPUT), LOG1 => host::log::<1, _>);
    insert!(table, afforded of (FRONTIER, 4, OUTPUT), LOG2 => host::log::<2, _>);
    insert!(table, afforded of (FRONTIER, 5, OUTPUT), LOG3 => host::log::<3, _>);
    insert!(table, afforded of (FRONTIER, 6, OUTPUT), LOG4 => host::log::<4, _>);
    insert!(table, roomy of (FRONTIER, 2, OUTPUT), RETURN => control::ret);
    insert!(table, roomy of (BYZANTIUM, 2, OUTPUT), REVERT => control::revert);
    insert!(table, roomy of (FRONTIER, 3, INIT_CODE), CREATE => contract::create::<false, _, _>);
    insert!(table, roomy of (PETERSBURG, 4, INIT_CODE), CREATE2 => contract::create::<true, _, _>);
    insert!(table, roomy of (FRONTIER, 7, CALL_WITH_VALUE),
        CALL => contract::call::<CALL, _, _>,
        CALLCODE => contract::call::<CALLCODE, _, _>,
    );
    insert!(table, roomy of (HOMESTEAD, 6, CALL_WITHOUT_VALUE),
        DELEGATECALL => contract::call::<DELEGATECALL, _, _>,
    );
    insert!(table, roomy of (BYZANTIUM, 6, CALL_WITHOUT_VALUE),
        STATICCALL => contract::call::<STATICCALL, _, _>,
    );
    table
};

/// A fork's instructions, metered.
pub(crate) fn instructions(spec: SpecId) -> EthInstructions<EthInterpreter, EvmContext> {
    EthInstructions::new(TABLE, gas_table_spec(spec), spec)
}
