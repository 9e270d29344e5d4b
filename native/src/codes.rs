//! A process-wide cache of analysed contract code by hash. The code of a hash never changes, so
//! entries are never stale; the least recently used ones are dropped when the cache is full.

use std::sync::{LazyLock, Mutex};

use revm::{
    primitives::{B256, B256Map},
    state::Bytecode,
};

/// Maximum number of bytes of code in the cache, not counting the jump tables, which add an eighth.
const CAPACITY: usize = 64 << 20;

#[derive(Default)]
struct Codes {
    entries: B256Map<(Bytecode, u64)>,
    /// Sum of the lengths of the codes in `entries`.
    held: usize,
    /// Increases with each access; the value at an entry's last access is its age.
    clock: u64,
}

static CODES: LazyLock<Mutex<Codes>> = LazyLock::new(Mutex::default);

impl Codes {
    fn get(&mut self, hash: &B256) -> Option<Bytecode> {
        self.clock += 1;
        let (code, used) = self.entries.get_mut(hash)?;
        *used = self.clock;
        Some(code.clone())
    }

    fn put(&mut self, hash: B256, code: Bytecode, capacity: usize) {
        self.clock += 1;
        self.held += code.len();
        if let Some((old, _)) = self.entries.insert(hash, (code, self.clock)) {
            self.held -= old.len();
        }
        if self.held > capacity {
            self.drop_oldest(capacity / 2);
        }
    }

    /// Drop half of the cache in one go, so that sorting by age costs little per entry.
    fn drop_oldest(&mut self, keep: usize) {
        let mut ages: Vec<_> =
            self.entries.iter().map(|(hash, (_, used))| (*used, *hash)).collect();
        ages.sort_unstable();
        for (_, hash) in ages {
            if self.held <= keep {
                break;
            }
            if let Some((code, _)) = self.entries.remove(&hash) {
                self.held -= code.len();
            }
        }
    }
}

/// Return the code with this hash if it is in the cache.
pub(crate) fn get(hash: &B256) -> Option<Bytecode> {
    CODES.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get(hash)
}

/// Add code to the cache.
pub(crate) fn put(hash: B256, code: Bytecode) {
    CODES.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).put(hash, code, CAPACITY);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(byte: u8) -> (B256, Bytecode) {
        (B256::repeat_byte(byte), Bytecode::new_raw(vec![byte; 100].into()))
    }

    #[test]
    fn the_oldest_code_is_dropped_when_the_cache_is_full() {
        let mut codes = Codes::default();
        for byte in 1..=4 {
            let (hash, code) = code(byte);
            codes.put(hash, code, usize::MAX);
        }
        assert!(codes.get(&B256::repeat_byte(1)).is_some());
        let room = codes.held;
        let (hash, last) = code(5);
        codes.put(hash, last, room);
        assert!(codes.get(&B256::repeat_byte(1)).is_some());
        assert!(codes.get(&B256::repeat_byte(2)).is_none());
        assert!(codes.get(&B256::repeat_byte(5)).is_some());
    }
}
