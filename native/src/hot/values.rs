//! What is kept for answers about a head: it is of one epoch, but for results about accepted blocks.

use std::{collections::HashMap, sync::Arc};

use revm::primitives::B256;

use crate::hot::{
    call::{Estimates, Heavy, Long, Surroundings},
    kept::Kept,
};

/// What is asked of an accepted block, and always answered alike.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum ResultKey {
    Receipt(B256),
    Transaction(B256),
    /// With whole transactions, or with their hashes.
    BlockByNumber(u64, bool),
    BlockByHash(B256, bool),
}

/// Where a call is run.
#[derive(Clone, Copy)]
pub(crate) enum RunsOn {
    /// On an event loop, in a turn of which it is known what it has left.
    Loop,
    /// There as well, but of a whole request or frame: it has less time, and is tried again.
    WholeOnLoop,
    /// Of a whole request as well, in a thread of the pool.
    Pool,
    /// In a thread.
    Thread,
}

pub(crate) struct Values {
    pub(crate) head: Option<u64>,
    pub(crate) epoch: u64,
    /// Results of methods without params, of this epoch.
    pub(crate) results: HashMap<String, Vec<u8>>,
    /// Results about accepted blocks, and their bytes.
    pub(crate) accepted: Kept<ResultKey, Arc<[u8]>>,
    pub(crate) bytes: usize,
    pub(crate) surroundings: Option<Arc<Surroundings>>,
    pub(crate) estimates: Option<Estimates>,
    /// Calls that are not tried, by where they are run.
    heavy: [Heavy; 4],
    /// Calls that are not short, wherever they are run.
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

    /// Whether what was found out in an epoch may be kept.
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

    /// Keep a result about an accepted block; at most so many bytes of all.
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
