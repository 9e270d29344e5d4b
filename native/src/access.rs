//! The addresses and slots that a call touches, for an access list, collected like in geth's access
//! list tracer.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use revm::{
    Inspector,
    bytecode::opcode,
    interpreter::{
        Interpreter,
        interpreter_types::{InputsTr, Jumps},
    },
    primitives::{Address, AddressSet, B256, U256},
};

use crate::environment::EvmContext;

/// Collects touched addresses and slots. Excluded addresses are listed only if one of their slots
/// is touched.
pub(crate) struct Accesses {
    excluded: AddressSet,
    touched: BTreeMap<Address, BTreeSet<B256>>,
}

impl Accesses {
    pub(crate) fn new(excluded: AddressSet) -> Self {
        Self { excluded, touched: BTreeMap::new() }
    }

    /// Return the addresses and their slots, ascending.
    pub(crate) fn take_list(&mut self) -> Vec<(Address, Vec<B256>)> {
        let sorted =
            |(address, slots): (Address, BTreeSet<B256>)| (address, slots.into_iter().collect());
        mem::take(&mut self.touched).into_iter().map(sorted).collect()
    }

    fn address(&mut self, word: Option<U256>) {
        if let Some(word) = word {
            let address = Address::from_word(word.into());
            if !self.excluded.contains(&address) {
                self.touched.entry(address).or_default();
            }
        }
    }
}

impl Inspector<EvmContext> for Accesses {
    fn step(&mut self, interpreter: &mut Interpreter, _: &mut EvmContext) {
        let stack = interpreter.stack.data();
        let from_top = |depth: usize| stack.iter().rev().nth(depth).copied();
        match interpreter.bytecode.opcode() {
            opcode::SLOAD | opcode::SSTORE => {
                if let Some(slot) = from_top(0) {
                    let contract = interpreter.input.target_address();
                    self.touched.entry(contract).or_default().insert(slot.into());
                }
            }
            opcode::EXTCODECOPY
            | opcode::EXTCODEHASH
            | opcode::EXTCODESIZE
            | opcode::BALANCE
            | opcode::SELFDESTRUCT => self.address(from_top(0)),
            opcode::DELEGATECALL | opcode::CALL | opcode::STATICCALL | opcode::CALLCODE => {
                self.address(from_top(1));
            }
            _ => {}
        }
    }
}
