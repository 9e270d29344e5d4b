//! What is kept for answers about a head: it is of one epoch, but for results about accepted blocks.

use std::{collections::HashMap, sync::Arc};

use revm::primitives::B256;

use crate::hot::{
    call::{Estimates, Heavy, Surroundings},
    kept::Kept,
};

/// Where a call is run.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// On an event loop, in a turn of which it is known what it has left.
    Loop,
    /// There as well, but of a whole request or frame: it has less time, and is tried again.
    Whole,
    /// In a thread.
    Thread,
}

pub(crate) struct Values {
    pub(crate) head: Option<u64>,
    pub(crate) epoch: u64,
    /// Results of methods without params, of this epoch.
    pub(crate) results: HashMap<String, Vec<u8>>,
    /// Results about transactions in accepted blocks, by the place of the method in `BY_HASH`.
    pub(crate) by_hash: Kept<(usize, B256), Box<[u8]>>,
    /// Their bytes.
    pub(crate) bytes: usize,
    pub(crate) surroundings: Option<Arc<Surroundings>>,
    pub(crate) estimates: Option<Estimates>,
    /// Calls that are not tried, by place.
    heavy: [Heavy; 3],
}

impl Values {
    pub(crate) fn new() -> Self {
        Self {
            head: None,
            epoch: 0,
            results: HashMap::new(),
            by_hash: Kept::new(usize::MAX),
            bytes: 0,
            surroundings: None,
            estimates: None,
            heavy: [Heavy::default(), Heavy::of_all_that_fail(), Heavy::of_all_that_fail()],
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

    pub(crate) fn heavy(&mut self, place: Place) -> &mut Heavy {
        &mut self.heavy[place as usize]
    }
}
