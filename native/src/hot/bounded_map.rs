//! A map of limited size that drops its oldest entries.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
};

use revm::primitives::map::DefaultHashBuilder;

/// Values by key, limited in number. A replaced value keeps its age.
pub(crate) struct BoundedMap<K, V> {
    values: HashMap<K, (V, u64), DefaultHashBuilder>,
    /// Keys by age; may contain stale entries of keys that were removed and possibly added again.
    order: VecDeque<(K, u64)>,
    most: usize,
    clock: u64,
}

impl<K: Clone + Eq + Hash, V> BoundedMap<K, V> {
    pub(crate) fn new(most: usize) -> Self {
        Self { values: HashMap::default(), order: VecDeque::new(), most, clock: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key).map(|(value, _)| value)
    }

    /// Add or replace a value, and drop the oldest if there are too many.
    pub(crate) fn put(&mut self, key: K, value: V) {
        if let Some(known) = self.values.get_mut(&key) {
            known.0 = value;
            return;
        }
        self.clock += 1;
        self.values.insert(key.clone(), (value, self.clock));
        self.order.push_back((key, self.clock));
        while self.values.len() > self.most {
            self.drop_oldest();
        }
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let removed = self.values.remove(key)?;
        if self.order.len() > 2 * self.values.len() + 64 {
            let values = &self.values;
            self.order.retain(|(key, age)| values.get(key).is_some_and(|(_, now)| now == age));
        }
        Some(removed.0)
    }

    /// Drop the oldest value and return it.
    pub(crate) fn drop_oldest(&mut self) -> Option<V> {
        while let Some((key, age)) = self.order.pop_front() {
            if self.values.get(&key).is_some_and(|(_, now)| *now == age) {
                return self.values.remove(&key).map(|(value, _)| value);
            }
        }
        None
    }

    /// Drop all values whose keys match.
    pub(crate) fn remove_where(&mut self, meant: impl Fn(&K) -> bool) {
        self.values.retain(|key, _| !meant(key));
        self.order.retain(|(key, _)| !meant(key));
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.order.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(most: usize) -> BoundedMap<u32, u32> {
        let mut kept = BoundedMap::new(most);
        (0..10).for_each(|key| kept.put(key, key * 10));
        kept
    }

    #[test]
    fn the_oldest_entry_is_dropped_first() {
        let kept = filled(4);
        assert_eq!(kept.len(), 4);
        assert_eq!(kept.get(&5), None);
        assert_eq!((6..10).filter_map(|key| kept.get(&key)).sum::<u32>(), 300);
    }

    #[test]
    fn a_replaced_value_keeps_its_age_and_a_readded_one_is_new() {
        let mut kept = filled(10);
        kept.put(0, 7);
        kept.remove(&1);
        kept.put(1, 8);
        kept.put(10, 9);
        assert_eq!(kept.get(&0), None);
        assert_eq!(kept.drop_oldest(), Some(20));
        assert_eq!(kept.get(&1), Some(&8));
    }

    #[test]
    fn removed_keys_are_forgotten() {
        let mut kept = filled(10);
        for _ in 0..10_000 {
            kept.remove(&3);
            kept.put(3, 1);
        }
        assert!(kept.order.len() < 100);
        kept.remove_where(|key| *key % 2 == 0);
        assert_eq!((kept.len(), kept.order.iter().any(|(key, _)| *key == 4)), (5, false));
    }
}
