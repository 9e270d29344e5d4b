//! The cached values behind the answers for a head. They belong to one epoch, except results about
//! accepted blocks.

use std::{collections::HashMap, sync::Arc};

use revm::primitives::B256;

use crate::hot::{
    call::{Estimates, Heavy, Long, Surroundings},
    kept::Kept,
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
    pub(crate) accepted: Kept<ResultKey, Arc<[u8]>>,
    pub(crate) bytes: usize,
    pub(crate) surroundings: Option<Arc<Surroundings>>,
    pub(crate) estimates: Option<Estimates>,
    /// Kinds of calls that are not tried, by the place where they would run.
    heavy: [Heavy; 4],
    /// Kinds of long calls, wherever they run.
    pub(crate) long: Long,
}

impl Values {
    pub(crate) fn new() -> Self {
        Self {
            head: None,
            epoch: 0,
            results: HashMap::new(),
            accepted: Kept::new(usize::MAX),
            bytes: 0,
            surroundings: None,
            estimates: None,
            heavy: [
                Heavy::default(),
                Heavy::of_all_that_fail(),
                Heavy::of_all_that_fail(),
                Heavy::of_all_that_fail(),
            ],
            long: Long::default(),
        }
    }

    /// Return whether a result computed in an epoch may be cached.
    pub(crate) fn takes(&self, epoch: u64) -> bool {
        self.epoch == epoch && self.head.is_some()
    }

    pub(crate) fn end_epoch(&mut self) {
        self.epoch += 1;
        self.results.clear();
        self.surroundings = None;
        self.estimates = None;
        self.heavy.iter_mut().for_each(Heavy::clear);
    }

    /// Cache a result about an accepted block; drop old ones while their total size exceeds
    /// `most_bytes`.
    pub(crate) fn keep(&mut self, asked: ResultKey, result: Arc<[u8]>, most_bytes: usize) {
        if self.accepted.get(&asked).is_none() {
            self.bytes += result.len();
            self.accepted.put(asked, result);
        }
        while self.bytes > most_bytes {
            let dropped = self.accepted.drop_oldest();
            self.bytes -= dropped.map_or(self.bytes, |dropped| dropped.len());
        }
    }

    pub(crate) fn heavy(&mut self, on: RunsOn) -> &mut Heavy {
        &mut self.heavy[on as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_about_accepted_blocks_take_no_more_bytes_than_they_may() {
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
    fn a_result_that_does_not_fit_alone_is_not_kept() {
        let mut values = Values::new();
        values.keep(ResultKey::Receipt(B256::ZERO), [0; 36].into(), 35);
        assert_eq!((values.accepted.len(), values.bytes), (0, 0));
    }
}
