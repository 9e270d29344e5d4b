//! Accounts and slots of a chain's head, and hashes of blocks below it.
//!
//! Reads and changes hold a lock under which no other lock is taken, so every reader sees the
//! values of a single height. Values read from the database are added only if the version of the
//! memory has not changed since before they were read.

use std::{
    cell::Cell,
    hash::{Hash, Hasher},
    sync::{
        Arc, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use pyo3::{IntoPyObjectExt, prelude::*, types::PyBytes};
use revm::primitives::{Address, B256, U256};

use crate::{
    convert::{self, Addr, Uint, Word},
    hot::bounded_map::BoundedMap,
};

/// Nonce, balance and code hash; None if the account does not exist.
pub(crate) type Account = Option<(u64, U256, B256)>;

/// A slot of an account. It is hashed in words, because calls may read thousands of slots, and the
/// default hash of the single bytes takes as long as the lookup.
#[derive(Clone, PartialEq, Eq)]
struct SlotKey(Address, B256);

impl Hash for SlotKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let word = |bytes: &[u8]| u128::from_le_bytes(bytes.try_into().expect("sixteen bytes"));
        state.write_u128(word(&self.0[..16]));
        state.write_u32(u32::from_le_bytes(self.0[16..].try_into().expect("four bytes")));
        state.write_u128(word(&self.1[..16]));
        state.write_u128(word(&self.1[16..]));
    }
}

struct Values {
    number: Option<u64>,
    version: u64,
    accounts: BoundedMap<Address, Account>,
    slots: BoundedMap<SlotKey, B256>,
    /// Hashes of blocks that calls have asked for, by height. They stay valid while the chain is
    /// extended.
    hashes: BoundedMap<u64, B256>,
}

/// Number of block hashes in memory; the EVM cannot read earlier ones (BLOCKHASH).
const HASHES: usize = 256;

/// How often values of a kind were found, and how often they had to be read.
#[derive(Default)]
struct HitCounts {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl HitCounts {
    fn count<T>(&self, found: Option<T>) -> Option<T> {
        if found.is_some() {
            self.hits.fetch_add(1, Ordering::Relaxed);
        }
        found
    }

    fn read(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }
}

pub(crate) struct Shared {
    values: RwLock<Values>,
    accounts: HitCounts,
    slots: HitCounts,
}

impl Shared {
    fn read(&self) -> RwLockReadGuard<'_, Values> {
        self.values.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Values> {
        self.values.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The memory at one height. It has no values after the memory has moved to another height.
pub(crate) struct Head {
    memory: Arc<Shared>,
    /// The version at that height; None if the memory is at another height.
    version: Option<u64>,
    /// Number of slots found. Counted per thread, because updating a shared counter at each slot
    /// would slow threads down.
    slots: Cell<u64>,
}

impl Drop for Head {
    fn drop(&mut self) {
        self.memory.slots.hits.fetch_add(self.slots.get(), Ordering::Relaxed);
    }
}

impl Head {
    /// Return an account if it is in memory.
    pub(crate) fn account(&self, address: &Address) -> Option<Account> {
        let values = self.memory.read();
        let found = (self.version == Some(values.version)).then(|| values.accounts.get(address));
        self.memory.accounts.count(found.flatten().copied())
    }

    /// Return a slot's value if it is in memory.
    pub(crate) fn slot(&self, address: Address, slot: B256) -> Option<B256> {
        let values = self.memory.read();
        let key = SlotKey(address, slot);
        let known = self.version == Some(values.version);
        let found = known.then(|| values.slots.get(&key)).flatten();
        self.slots.set(self.slots.get() + u64::from(found.is_some()));
        found.copied()
    }

    /// Return the hash of an earlier block if it is in memory.
    pub(crate) fn block_hash(&self, number: u64) -> Option<B256> {
        let values = self.memory.read();
        let known = self.version == Some(values.version);
        known.then(|| values.hashes.get(&number)).flatten().copied()
    }

    /// Add the hash of an earlier block that was read, unless the memory has changed since.
    pub(crate) fn remember_block_hash(&self, number: u64, hash: B256) {
        let mut values = self.memory.write();
        if self.version == Some(values.version) {
            values.hashes.put(number, hash);
        }
    }
}

type AccountValues = (Addr, Option<(u64, Uint, Word)>);

/// The accounts and slots at one height of one chain.
#[pyclass(frozen)]
pub(crate) struct StateMemory(Arc<Shared>);

#[pymethods]
impl StateMemory {
    /// Create a memory with limits for the numbers of accounts and slots.
    #[new]
    fn new(accounts: usize, slots: usize) -> Self {
        Self(Arc::new(Shared {
            values: RwLock::new(Values {
                number: None,
                version: 0,
                accounts: BoundedMap::new(accounts),
                slots: BoundedMap::new(slots),
                hashes: BoundedMap::new(HASHES),
            }),
            accounts: HitCounts::default(),
            slots: HitCounts::default(),
        }))
    }

    /// The height of the values.
    #[getter]
    fn number(&self) -> Option<u64> {
        self.0.read().number
    }

    /// Return the version to pass with values that are read at this height, or None if the memory
    /// is at another height.
    fn version_at(&self, number: u64) -> Option<u64> {
        let values = self.0.read();
        (values.number == Some(number)).then_some(values.version)
    }

    /// Return nonce, balance and code hash, None if the account does not exist, or False if it is
    /// not in memory.
    fn account<'py>(
        &self,
        py: Python<'py>,
        address: Addr,
        number: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.at(number).account(&address.0) {
            None => false.into_bound_py_any(py),
            Some(None) => Ok(py.None().into_bound(py)),
            Some(Some((nonce, balance, code_hash))) => {
                let hash = convert::bytes(py, code_hash.as_slice());
                (nonce, convert::int(py, &balance)?, hash).into_bound_py_any(py)
            }
        }
    }

    /// Return a slot's value, or None if it is not in memory.
    fn slot<'py>(
        &self,
        py: Python<'py>,
        address: Addr,
        slot: Word,
        number: u64,
    ) -> Option<Bound<'py, PyBytes>> {
        let found = self.at(number).slot(address.0, slot.0)?;
        Some(convert::bytes(py, found.as_slice()))
    }

    /// Add accounts that were read at this version, unless the memory has changed since.
    fn remember_accounts(&self, accounts: Vec<AccountValues>, version: Option<u64>) {
        let mut values = self.0.write();
        if Some(values.version) == version {
            self.0.accounts.misses.fetch_add(accounts.len() as u64, Ordering::Relaxed);
            for (address, account) in accounts {
                let account = account.map(|(nonce, balance, hash)| (nonce, balance.0, hash.0));
                values.accounts.put(address.0, account);
            }
        }
    }

    /// Add a slot that was read at this version, unless the memory has changed since.
    fn remember_slot(&self, address: Addr, slot: Word, value: Word, version: Option<u64>) {
        let mut values = self.0.write();
        if Some(values.version) == version {
            self.0.slots.misses.fetch_add(1, Ordering::Relaxed);
            values.slots.put(SlotKey(address.0, slot.0), value.0);
        }
    }

    /// Move to a height by applying the port's `StateChanges`.
    fn advance(&self, number: u64, changes: &Bound<'_, PyAny>) -> PyResult<()> {
        let changed = convert::difference(changes)?;
        let mut values = self.0.write();
        values.version += 1;
        if !changed.cleared.is_empty() {
            values.slots.remove_where(|SlotKey(address, _)| changed.cleared.contains(address));
        }
        for (address, account) in changed.accounts {
            values.accounts.put(address, account);
        }
        for (address, slot, value) in changed.storage {
            values.slots.put(SlotKey(address, slot), value.into());
        }
        values.number = Some(number);
        Ok(())
    }

    /// Move to another height and drop the accounts and slots that changed.
    fn move_to(&self, number: u64, accounts: Vec<Addr>, slots: Vec<(Addr, Word)>) {
        let mut values = self.0.write();
        values.version += 1;
        for address in accounts {
            values.accounts.remove(&address.0);
        }
        for (address, slot) in slots {
            values.slots.remove(&SlotKey(address.0, slot.0));
        }
        values.hashes.clear();
        values.number = Some(number);
    }

    /// Move to a height and drop all values.
    fn reset(&self, number: u64) {
        let mut values = self.0.write();
        values.version += 1;
        values.accounts.clear();
        values.slots.clear();
        values.hashes.clear();
        values.number = Some(number);
    }

    /// Return for accounts and for slots: their number, and how often they were found and had to be
    /// read.
    fn kept(&self) -> [(usize, u64, u64); 2] {
        let values = self.0.read();
        let (account_hits, account_misses) = self.0.accounts.read();
        let (slot_hits, slot_misses) = self.0.slots.read();
        [
            (values.accounts.len(), account_hits, account_misses),
            (values.slots.len(), slot_hits, slot_misses),
        ]
    }
}

impl StateMemory {
    /// Return the memory at a height.
    pub(crate) fn at(&self, number: u64) -> Head {
        let version = self.version_at(number);
        Head { memory: Arc::clone(&self.0), version, slots: Cell::default() }
    }
}
