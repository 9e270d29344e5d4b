//! The cached values behind the answers for a head. They belong to one epoch, except results about
//! accepted blocks.

use std::{collections::HashMap, sync::Arc};

use revm::primitives::B256;

use crate::hot::{
    bounded_map::BoundedMap,
    call::{CallEnvironment, Estimates, LongKinds, SlowKinds},
};

/// The key of a result about an accepted block, which never changes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum ResultKey {
    Receipt(B256),
    Transaction(B256),
    /// With full transactions, or with their hashes.
    BlockByNumber(u64, bool),
    BlockByHash(B256, bool),
}

/// The place where a call is run.
#[derive(Clone, Copy)]
pub(crate) enum RunsOn {
    /// On an event loop, in a turn whose remaining time is known.
    Loop,
    /// On an event loop too, but for a whole request or frame: it has less time, and is tried again
    /// elsewhere if it fails.
    WholeOnLoop,
    /// In a thread of the pool, for a whole request.
    Pool,
    /// In one of Python's threads.
    Thread,
}

pub(crate) struct Values {
    pub(crate) head: Option<u64>,
    pub(crate) epoch: u64,
    /// Results of methods without params, of this epoch.
    pub(crate) results: HashMap<String, Vec<u8>>,
    /// Results about accepted blocks, and their total size.
    pub(crate) accepted: BoundedMap<ResultKey, Arc<[u8]>>,
    pub(crate) bytes: usize,
    pub(crate) call_environment: Option<Arc<CallEnvironment>>,
    pub(crate) estimates: Option<Estimates>,
    /// Kinds of calls that are not tried, by the place where they would run.
    heavy: [SlowKinds; 4],
    /// Kinds of long calls, wherever they run.
    pub(crate) long: LongKinds,
}

impl Values {
    pub(crate) fn new() -> Self {
        Self {
            head: None,
            epoch: 0,
            results: HashMap::new(),
            accepted: BoundedMap::new(usize::MAX),
            bytes: 0,
            call_environment: None,
            estimates: None,
            heavy: [
                SlowKinds::default(),
                SlowKinds::of_all_that_fail(),
                SlowKinds::of_all_that_fail(),
                SlowKinds::of_all_that_fail(),
            ],
            long: LongKinds::default(),
        }
    }

    /// Return whether a result computed in an epoch may be cached.
    pub(crate) fn takes(&self, epoch: u64) -> bool {
        self.epoch == epoch && self.head.is_some()
    }

    pub(crate) fn end_epoch(&mut self) {
        self.epoch += 1;
        self.results.clear();
        self.call_environment = None;
        self.estimates = None;
        self.heavy.iter_mut().for_each(SlowKinds::clear);
    }

    /// Cache a result about an accepted block; drop old ones while their total size exceeds
    /// `most_bytes`.
    pub(crate) fn keep(&mut self, key: ResultKey, result: Arc<[u8]>, most_bytes: usize) {
        if self.accepted.get(&key).is_none() {
            self.bytes += result.len();
            self.accepted.put(key, result);
        }
        while self.bytes > most_bytes {
            let dropped = self.accepted.drop_oldest();
            self.bytes -= dropped.map_or(self.bytes, |dropped| dropped.len());
        }
    }

    pub(crate) fn heavy(&mut self, on: RunsOn) -> &mut SlowKinds {
        &mut self.heavy[on as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_results_about_accepted_blocks_is_limited() {
        let mut values = Values::new();
        for number in 0..10 {
            values.keep(ResultKey::BlockByNumber(number, true), [0; 10].into(), 35);
            values.keep(ResultKey::BlockByNumber(number, true), [1; 10].into(), 35);
        }
        let kept = (0..10).filter(|number| {
            values.accepted.get(&ResultKey::BlockByNumber(*number, true)).is_some()
        });
        assert_eq!((kept.collect::<Vec<_>>(), values.bytes), (vec![7, 8, 9], 30));
    }

    #[test]
    fn a_result_above_the_limit_is_not_cached() {
        let mut values = Values::new();
        values.keep(ResultKey::Receipt(B256::ZERO), [0; 36].into(), 35);
        assert_eq!((values.accepted.len(), values.bytes), (0, 0));
    }
}
