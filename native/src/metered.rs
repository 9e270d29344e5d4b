//! Instructions that check the meter: JUMPDEST, which every loop passes, and all instructions that
//! take longer than a few nanoseconds. The others run as fast as without limits; at most as many of
//! them as the code has bytes can run without a check.

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
    coreth,
    environment::EvmContext,
    halt,
    limits::{self, GAS},
};

type Context<'a> = InstructionContext<'a, EvmContext, EthInterpreter>;

/// Positions of a memory area's offset and length on the stack, from the top.
type Places = &'static [(usize, usize)];

/// The fork that introduced an instruction, the number of stack items it takes, and its memory
/// areas.
type Needs = (SpecId, usize, Places);

/// The most bytes of memory that geth computes a price for.
const MOST_MEMORY: u128 = 0x1f_ffff_ffe0;

const NOWHERE: Places = &[];
const COPIED: Places = &[(0, 2)];
const MOVED: Places = &[(0, 2), (1, 2)];
const CODE_COPIED: Places = &[(1, 3)];
const OUTPUT: Places = &[(0, 1)];
const INIT_CODE: Places = &[(1, 2)];
const CALL_WITH_VALUE: Places = &[(3, 4), (5, 6)];
const CALL_WITHOUT_VALUE: Places = &[(2, 3), (4, 5)];

/// Check the limits, then run the instruction.
#[inline(always)]
fn timed(
    context: Context<'_>,
    run: impl Fn(Context<'_>) -> InstructionExecResult,
) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    check_limits(interpreter, host)?;
    run(InstructionContext { interpreter, host })
}

#[inline(always)]
fn check_limits(
    interpreter: &Interpreter<EthInterpreter>,
    host: &mut EvmContext,
) -> InstructionExecResult {
    let remaining = interpreter.gas.remaining();
    if host.chain.meter.is_due(remaining)
        && let Some(limit) = host.chain.meter.settle(remaining)
    {
        return Err(limits::interrupt(host, limit));
    }
    Ok(())
}

/// Fail if the stack has too few items or if the memory area is too large. Geth checks both before
/// gas; revm pops items one by one and charges gas in between.
#[inline(always)]
fn check(interpreter: &Interpreter<EthInterpreter>, needs: Needs) -> InstructionExecResult {
    let (fork, items, places) = needs;
    if interpreter.stack.len() < items {
        return refuse(interpreter, fork, InstructionResult::StackUnderflow);
    }
    let mut end = 0;
    for place in places {
        end = end.max(area_end(interpreter, *place));
    }
    match memory_failure(end) {
        Some(failure) => refuse(interpreter, fork, failure),
        None => Ok(()),
    }
}

/// Return the failure of an instruction whose memory ends above the size that geth computes a price
/// for.
#[inline(always)]
pub(crate) fn memory_failure(end: u128) -> Option<InstructionResult> {
    if end <= MOST_MEMORY {
        None
    } else if end <= u128::from(u64::MAX - 31) {
        Some(InstructionResult::MemoryLimitOOG)
    } else {
        Some(InstructionResult::InvalidOperandOOG)
    }
}

/// Return the end of a memory area; `u128::MAX` if its offset or length exceeds 64 bits.
#[inline(always)]
fn area_end(interpreter: &Interpreter<EthInterpreter>, (offset, length): (usize, usize)) -> u128 {
    let peek = |depth| interpreter.stack.peek(depth).unwrap_or(U256::ZERO);
    let length = peek(length);
    if length.is_zero() {
        return 0;
    }
    let offset = peek(offset);
    if (length | offset).bit_len() > 64 {
        return u128::MAX;
    }
    u128::from(length.as_limbs()[0]) + u128::from(offset.as_limbs()[0])
}

/// Return the failure, or the failure of an unknown instruction if the fork does not have it.
#[cold]
fn refuse(
    interpreter: &Interpreter<EthInterpreter>,
    since: SpecId,
    why: InstructionResult,
) -> InstructionExecResult {
    let exists = interpreter.runtime_flag.spec_id.is_enabled_in(since);
    Err(if exists { why } else { InstructionResult::NotActivated })
}

/// Run an instruction that charges its gas before it works, with its gas limited to the allowance.
/// The instruction must not use its remaining gas in any other way.
#[inline(always)]
fn afforded(
    context: Context<'_>,
    needs: Needs,
    run: impl Fn(Context<'_>) -> InstructionExecResult,
) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    check(interpreter, needs)?;
    check_limits(interpreter, host)?;
    let remaining = interpreter.gas.remaining();
    let allowed = host.chain.meter.left(remaining);
    let Some(hidden) = remaining.checked_sub(allowed) else {
        return run(InstructionContext { interpreter, host });
    };
    interpreter.gas.set_remaining(allowed);
    match run(InstructionContext { interpreter, host: &mut *host }) {
        Err(InstructionResult::OutOfGas | InstructionResult::MemoryOOG) => {
            interpreter.gas.set_remaining(remaining);
            Err(limits::interrupt(host, GAS))
        }
        outcome => {
            interpreter.gas.set_remaining(interpreter.gas.remaining() + hidden);
            outcome
        }
    }
}

/// Run an instruction that uses its remaining gas, if the allowance is enough for its memory.
#[inline(always)]
fn roomy(
    context: Context<'_>,
    needs: Needs,
    run: impl Fn(Context<'_>) -> InstructionExecResult,
) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    check(interpreter, needs)?;
    check_limits(interpreter, host)?;
    let remaining = interpreter.gas.remaining();
    let allowed = host.chain.meter.left(remaining);
    if allowed < remaining && !needs.2.iter().all(|place| has_room(interpreter, *place, allowed)) {
        return Err(limits::interrupt(host, GAS));
    }
    run(InstructionContext { interpreter, host })
}

/// Return whether the memory is large enough already, or can grow for this much gas.
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

/// Check the stack and the limits, then run an instruction for which revm makes other checks before
/// that of the stack.
#[inline(always)]
fn checked(
    context: Context<'_>,
    needs: Needs,
    run: impl Fn(Context<'_>) -> InstructionExecResult,
) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    check(interpreter, needs)?;
    timed(InstructionContext { interpreter, host }, run)
}

/// Geth charges the gas of LOG before it checks whether the call is static.
fn log<const TOPICS: usize>(context: Context<'_>) -> InstructionExecResult {
    let interpreter = &context.interpreter;
    if interpreter.runtime_flag.is_static {
        // `check` has made sure that the length, and the offset if the length is not 0, fit in 64
        // bits.
        let [offset, length] = [0, 1].map(|depth| {
            let item = interpreter.stack.peek(depth).unwrap_or_default();
            item.saturating_to::<u64>()
        });
        let end = if length == 0 { 0 } else { u128::from(offset) + u128::from(length) };
        let writing = context.host.cfg.gas_params().log_cost(TOPICS as u8, length);
        let cost = writing.saturating_add(growth(interpreter.memory.size(), end));
        if cost > interpreter.gas.remaining() {
            return Err(InstructionResult::OutOfGas);
        }
    }
    host::log::<TOPICS, _>(context)
}

/// Geth charges the gas before it checks whether there is enough return data.
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

/// Return the gas for growing memory from one size to another end, exact up to 64 bits.
pub(crate) fn growth(size: usize, end: u128) -> u64 {
    let gas = |words: u128| 3 * words + words * words / 512;
    let more = gas(end.div_ceil(32)).saturating_sub(gas(num_words(size) as u128));
    u64::try_from(more).unwrap_or(u64::MAX)
}

/// Geth charges the fixed cost of CREATE and CREATE2 before all other checks. If the init code is
/// too long, geth's message contains its length.
fn create<const IS_CREATE2: bool>(context: Context<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let needs = if IS_CREATE2 { (PETERSBURG, 4, INIT_CODE) } else { (FRONTIER, 3, INIT_CODE) };
    let has_items = interpreter.stack.len() >= needs.1;
    if has_items && interpreter.gas.remaining() < host.cfg.gas_params().create_cost() {
        return refuse(interpreter, needs.0, InstructionResult::OutOfGas);
    }
    let length = interpreter.stack.peek(2).unwrap_or_default();
    let context = InstructionContext { interpreter, host: &mut *host };
    let outcome = roomy(context, needs, contract::create::<IS_CREATE2, _, _>);
    if outcome == Err(InstructionResult::CreateInitCodeSizeLimit) {
        host.chain.failure = Some(halt::large_init_code(length, host.cfg.max_initcode_size()));
    }
    outcome
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
        TLOAD => host::tload,
    );
    insert!(table, checked of (FRONTIER, 2, NOWHERE), SSTORE => host::sstore);
    insert!(table, checked of (CANCUN, 2, NOWHERE), TSTORE => host::tstore);
    insert!(table, checked of (FRONTIER, 1, NOWHERE), SELFDESTRUCT => host::selfdestruct);
    insert!(table, afforded of (FRONTIER, 2, NOWHERE), EXP => arithmetic::exp);
    insert!(table, afforded of (FRONTIER, 2, OUTPUT), KECCAK256 => system::keccak256);
    insert!(table, afforded of (FRONTIER, 3, COPIED),
        CALLDATACOPY => system::calldatacopy,
        CODECOPY => system::codecopy,
    );
    insert!(table, afforded of (BYZANTIUM, 3, COPIED), RETURNDATACOPY => returndatacopy);
    insert!(table, afforded of (FRONTIER, 4, CODE_COPIED), EXTCODECOPY => host::extcodecopy);
    insert!(table, afforded of (CANCUN, 3, MOVED), MCOPY => memory::mcopy);
    insert!(table, afforded of (FRONTIER, 2, OUTPUT), LOG0 => log::<0>);
    insert!(table, afforded of (FRONTIER, 3, OUTPUT), LOG1 => log::<1>);
    insert!(table, afforded of (FRONTIER, 4, OUTPUT), LOG2 => log::<2>);
    insert!(table, afforded of (FRONTIER, 5, OUTPUT), LOG3 => log::<3>);
    insert!(table, afforded of (FRONTIER, 6, OUTPUT), LOG4 => log::<4>);
    insert!(table, roomy of (FRONTIER, 2, OUTPUT), RETURN => control::ret);
    insert!(table, roomy of (BYZANTIUM, 2, OUTPUT), REVERT => control::revert);
    table[CREATE as usize] = Instruction::new(create::<false>);
    table[CREATE2 as usize] = Instruction::new(create::<true>);
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

/// The same for the EVM of coreth.
pub(crate) const CORETH_TABLE: InstructionTable<EthInterpreter, EvmContext> = {
    let mut table = TABLE;
    insert!(table, timed, SLOAD => coreth::sload);
    insert!(table, timed, EXTCODEHASH => coreth::extcodehash);
    insert!(table, checked of (FRONTIER, 2, NOWHERE), SSTORE => coreth::sstore);
    insert!(table, checked of (FRONTIER, 1, NOWHERE), SELFDESTRUCT => coreth::selfdestruct);
    insert!(table, roomy of (FRONTIER, 7, CALL_WITH_VALUE), CALL => coreth::call);
    table
};

/// Return a fork's instructions, metered.
pub(crate) fn instructions(
    spec: SpecId,
    is_coreth: bool,
) -> EthInstructions<EthInterpreter, EvmContext> {
    let table = if is_coreth { CORETH_TABLE } else { TABLE };
    EthInstructions::new(table, gas_table_spec(spec), spec)
}
