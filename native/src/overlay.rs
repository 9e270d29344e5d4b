//! State during one execution: the values from the reader, and the changes of the transactions so
//! far. At the end it returns the difference. Nothing here outlives the execution.

use std::{
    collections::{HashMap, hash_map},
    sync::Arc,
    time::Instant,
};

use revm::{
    Database, DatabaseCommit,
    primitives::{
        Address, AddressMap, B256, B256Map, KECCAK_EMPTY, U256, U256Map, hardfork::SpecId,
    },
    state::{Account, AccountInfo, Bytecode},
};

use crate::{
    coreth::{self, Features, MULTI_COIN_SLOT},
    reader::{Reader, ReaderError},
    slots::Turn,
};

/// A slot's value before, once it is known, and now.
#[derive(Default)]
struct Slot {
    before: Option<U256>,
    now: U256,
}

/// An account before and now.
struct Entry {
    before: Option<AccountInfo>,
    now: Option<AccountInfo>,
    slots: U256Map<Slot>,
    /// Whether the storage that the reader has is deleted.
    cleared: bool,
    /// Whether the account had storage, once that is known.
    stored: Option<bool>,
}

impl Entry {
    fn new(before: Option<AccountInfo>) -> Self {
        Self {
            now: before.clone(),
            before,
            slots: U256Map::default(),
            cleared: false,
            stored: None,
        }
    }

    fn clear_storage(&mut self) {
        for slot in self.slots.values_mut() {
            slot.now = U256::ZERO;
        }
        self.cleared = true;
    }

    /// Return whether the account may have had storage that could be cleared: it had code, or it is
    /// one of coreth that held other assets.
    fn had_storage(&self) -> bool {
        self.before
            .as_ref()
            .is_some_and(|info| info.code_hash != KECCAK_EMPTY || self.stored == Some(true))
    }

    /// Return whether an account of coreth exists although it is empty: it ever held another asset.
    fn is_kept(&self) -> bool {
        match self.slots.get(&MULTI_COIN_SLOT) {
            Some(field) if !field.now.is_zero() => true,
            _ => !self.cleared && self.stored == Some(true),
        }
    }
}

/// One account before and after; None if it does not exist.
pub(crate) type AccountDifference = (Address, Option<AccountInfo>, Option<AccountInfo>);

/// The changes of an execution.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) accounts: Vec<AccountDifference>,
    /// Address, slot, value before, value after. For a cleared account, all slots that are not zero
    /// afterwards are listed, even those that were set to their old value again.
    pub(crate) storage: Vec<(Address, U256, U256, U256)>,
    pub(crate) codes: Vec<(B256, Bytecode)>,
    /// Accounts whose whole storage was deleted first, if they may have had some.
    pub(crate) cleared: Vec<Address>,
}

/// The reader's state with an execution's changes on top.
pub(crate) struct Overlay {
    reader: Reader,
    spec: SpecId,
    is_coreth: bool,
    /// Whether slots whose keys have the bit that marks balances are zero: only some phases of
    /// coreth read such balances. Elsewhere a key with the bit only says whether a slot is warm, so
    /// a read of its value would be wasted.
    hides_marked: bool,
    /// If true, `changes` is never called, so values that were read are kept only if reading them
    /// again is expensive.
    passing: bool,
    entries: AddressMap<Entry>,
    codes: B256Map<Bytecode>,
    /// Hashes of the requested blocks by height, so that each is read once.
    hashes: HashMap<u64, B256>,
    /// If `passing`, the account whose slot was read last, if its storage is unchanged: a call may
    /// read thousands of its slots.
    untouched: Option<Address>,
}

impl Overlay {
    /// Return the state of a block. `features` are those of coreth; None on other chains.
    pub(crate) fn new(reader: Reader, spec: SpecId, features: Option<Features>) -> Self {
        Self {
            reader,
            spec,
            is_coreth: features.is_some(),
            hides_marked: features.is_some_and(|features| !features.reads_marked()),
            passing: false,
            entries: AddressMap::default(),
            codes: B256Map::default(),
            hashes: HashMap::default(),
            untouched: None,
        }
    }

    /// Return the state of a call, whose changes are not needed.
    pub(crate) fn passing(reader: Reader, spec: SpecId, features: Option<Features>) -> Self {
        Self { passing: true, ..Self::new(reader, spec, features) }
    }

    /// Return whether there is currently code at an address.
    pub(crate) fn has_code(&mut self, address: Address) -> Result<bool, ReaderError> {
        Ok(self.basic(address)?.is_some_and(|info| info.code_hash != KECCAK_EMPTY))
    }

    /// Return whether any slot of an account without code is currently not zero.
    pub(crate) fn has_storage(&mut self, address: Address) -> Result<bool, ReaderError> {
        let entry = self.entry(address)?;
        if entry.slots.values().any(|slot| !slot.now.is_zero()) {
            return Ok(true);
        }
        if entry.cleared {
            return Ok(false);
        }
        self.had_storage(address)
    }

    /// Return whether any slot of an account without code was not zero before all changes.
    pub(crate) fn had_storage(&mut self, address: Address) -> Result<bool, ReaderError> {
        let entry = self.entry(address)?;
        if entry.before.is_none() {
            return Ok(false);
        }
        if let Some(stored) = entry.stored {
            return Ok(stored);
        }
        let stored = self.reader.has_storage(address)?;
        self.entry(address)?.stored = Some(stored);
        Ok(stored)
    }

    /// Return whether an account of coreth is empty and exists all the same.
    pub(crate) fn is_kept(&mut self, address: Address) -> Result<bool, ReaderError> {
        let entry = self.entry(address)?;
        Ok(entry.now.as_ref().is_some_and(AccountInfo::is_empty) && entry.is_kept())
    }

    fn entry(&mut self, address: Address) -> Result<&mut Entry, ReaderError> {
        match self.entries.entry(address) {
            hash_map::Entry::Occupied(known) => Ok(known.into_mut()),
            hash_map::Entry::Vacant(unknown) => {
                let mut entry = Entry::new(self.reader.account(address)?);
                if self.is_coreth && entry.before.as_ref().is_some_and(AccountInfo::is_empty) {
                    entry.stored = Some(self.reader.has_storage(address)?);
                }
                Ok(unknown.insert(entry))
            }
        }
    }

    fn commit_account(&mut self, address: Address, account: Account) {
        self.untouched = None;
        // The EVM loads an account before it touches it.
        let Some(entry) = self.entries.get_mut(&address) else { return };
        if account.is_selfdestructed() {
            entry.clear_storage();
            entry.now = None;
            return;
        }
        if account.is_created() {
            entry.clear_storage();
        }
        for (key, slot) in account.changed_storage_slots() {
            entry.slots.entry(*key).or_default().now = slot.present_value;
        }
        if account.is_empty()
            && self.spec.is_enabled_in(SpecId::SPURIOUS_DRAGON)
            && !(self.is_coreth && entry.is_kept())
        {
            entry.now = None;
            return;
        }
        let mut info = account.info;
        if let Some(code) = info.code.take() {
            let known = entry.now.as_ref().map_or(KECCAK_EMPTY, |now| now.code_hash);
            if info.code_hash != known && info.code_hash != KECCAK_EMPTY {
                self.codes.insert(info.code_hash, code);
            }
        }
        entry.now = Some(info);
    }

    /// Change the limits of the reader.
    pub(crate) fn limit(&mut self, deadline: Option<Instant>, turn: Option<Arc<Turn>>) {
        self.reader.limit(deadline, turn);
    }

    /// Commit a transaction's changes and return them, in ascending order of addresses and slots.
    pub(crate) fn commit_recorded(&mut self, changed: AddressMap<Account>) -> Changes {
        let mut changes = Changes::default();
        let mut touched: Vec<_> =
            changed.into_iter().filter(|(_, account)| account.is_touched()).collect();
        touched.sort_unstable_by_key(|(address, _)| *address);
        for (address, account) in touched {
            let before = self.entries.get(&address).and_then(|entry| entry.now.clone());
            if account.is_selfdestructed() {
                if before.as_ref().is_some_and(|info| info.code_hash != KECCAK_EMPTY) {
                    changes.cleared.push(address);
                }
            } else {
                let entry = self.entries.get(&address);
                if account.is_created()
                    && entry.is_some_and(|entry| !entry.cleared && entry.stored == Some(true))
                {
                    changes.cleared.push(address);
                }
                let mut slots: Vec<_> = account
                    .changed_storage_slots()
                    .map(|(key, slot)| (address, *key, slot.original_value, slot.present_value))
                    .collect();
                slots.sort_unstable_by_key(|change| change.1);
                changes.storage.append(&mut slots);
            }
            self.commit_account(address, account);
            let after = self.entries.get(&address).and_then(|entry| entry.now.clone());
            if before == after {
                continue;
            }
            let code_hash = |info: &Option<AccountInfo>| info.as_ref().map(|info| info.code_hash);
            if let Some(hash) = code_hash(&after)
                && code_hash(&before) != Some(hash)
                && let Some(code) = self.codes.get(&hash)
            {
                changes.codes.push((hash, code.clone()));
            }
            changes.accounts.push((address, before, after));
        }
        changes
    }

    /// Return the differences from the reader's state, in ascending order of addresses and slots.
    pub(crate) fn changes(&self) -> Result<Changes, ReaderError> {
        let mut changes = Changes::default();
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_unstable_by_key(|(address, _)| *address);
        for (&address, entry) in entries {
            let cleared = entry.cleared && entry.had_storage();
            if cleared {
                changes.cleared.push(address);
            }
            let first = changes.storage.len();
            for (&key, slot) in &entry.slots {
                if cleared && slot.now.is_zero() {
                    continue;
                }
                let before = match slot.before {
                    Some(before) => before,
                    None if cleared => self.reader.storage(address, key)?,
                    None => U256::ZERO,
                };
                if cleared || before != slot.now {
                    changes.storage.push((address, key, before, slot.now));
                }
            }
            changes.storage[first..].sort_unstable_by_key(|change| change.1);
            if let Some(after) = &entry.now
                && entry.before.as_ref().is_none_or(|before| before.code_hash != after.code_hash)
                && let Some(code) = self.codes.get(&after.code_hash)
            {
                changes.codes.push((after.code_hash, code.clone()));
            }
            if entry.before != entry.now {
                changes.accounts.push((address, entry.before.clone(), entry.now.clone()));
            }
        }
        Ok(changes)
    }
}

impl Database for Overlay {
    type Error = ReaderError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ReaderError> {
        Ok(self.entry(address)?.now.clone())
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, ReaderError> {
        match self.codes.get(&hash) {
            Some(code) => Ok(code.clone()),
            None => self.reader.code(hash),
        }
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, ReaderError> {
        if self.hides_marked && coreth::stored(key) != key {
            return Ok(U256::ZERO);
        }
        if self.untouched == Some(address)
            && let Some(value) = self.reader.remembered(address, key)
        {
            return Ok(value);
        }
        let passing = self.passing;
        let entry = self.entry(address)?;
        if let Some(slot) = entry.slots.get(&key) {
            return Ok(slot.now);
        }
        if entry.cleared || entry.before.is_none() {
            return Ok(U256::ZERO);
        }
        if passing {
            self.untouched = entry.slots.is_empty().then_some(address);
            if let Some(value) = self.reader.remembered(address, key) {
                return Ok(value);
            }
        }
        let value = self.reader.storage(address, key)?;
        if let Some(entry) = self.entries.get_mut(&address) {
            self.untouched = None;
            entry.slots.insert(key, Slot { before: Some(value), now: value });
        }
        Ok(value)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, ReaderError> {
        if let Some(hash) = self.hashes.get(&number) {
            return Ok(*hash);
        }
        let hash = self.reader.block_hash(number)?;
        self.hashes.insert(number, hash);
        Ok(hash)
    }
}

impl DatabaseCommit for Overlay {
    fn commit(&mut self, changes: AddressMap<Account>) {
        for (address, account) in changes {
            if account.is_touched() {
                self.commit_account(address, account);
            }
        }
    }
}
