//! The time budget of calls on an event loop whose remaining turn time is unknown.

use std::time::Instant;

/// The share of elapsed time that calls may use in the long run.
const SHARE: f64 = 0.25;

/// The share of the whole budget that must be available to start a call.
const BEGUN_FROM: f64 = 0.25;

/// Seconds of each call that are free, because such a call takes hardly longer than any other
/// request.
const FREE: f64 = 20e-6;

/// The seconds that calls may take, for all endpoints of a process together. Used time is refilled
/// as time passes, but only at a quarter of its speed. So consecutive calls, from however many
/// clients, extend a turn of the loop by a third of its other work plus the whole budget, and by
/// the overrun of the last call.
pub(crate) struct LoopTime {
    most: f64,
    /// Remaining seconds; negative if a call took longer than allowed.
    left: f64,
    /// The time at which `left` was computed.
    at: Instant,
}

impl LoopTime {
    pub(crate) fn new(most: f64, now: Instant) -> Self {
        Self { most, left: most, at: now }
    }

    /// Return how long a call may take if it starts now, or None if it should not start.
    pub(crate) fn available(&mut self, now: Instant) -> Option<f64> {
        let gone = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + gone * SHARE).min(self.most);
        self.at = now;
        (self.left > 0.0 && self.left >= self.most * BEGUN_FROM).then_some(self.left)
    }

    /// Deduct the duration of a call.
    pub(crate) fn take(&mut self, seconds: f64) {
        self.left -= (seconds - FREE).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MOST: f64 = 4.0;

    #[test]
    fn the_budget_starts_full_and_never_exceeds_its_size() {
        let now = Instant::now();
        let mut time = LoopTime::new(MOST, now);
        assert_eq!(time.available(now), Some(MOST));
        assert_eq!(time.available(now + Duration::from_secs(9)), Some(MOST));
    }

    #[test]
    fn no_call_starts_without_budget() {
        let now = Instant::now();
        assert_eq!(LoopTime::new(0.0, now).available(now), None);
    }

    #[test]
    fn too_little_budget_counts_as_none() {
        let now = Instant::now();
        let mut time = LoopTime::new(MOST, now);
        time.take(2.5);
        assert!(time.available(now).is_some());
        time.take(0.75);
        assert_eq!(time.available(now), None);
    }

    #[test]
    fn it_refills_at_a_quarter_of_the_elapsed_time_after_repaying_the_overrun() {
        let now = Instant::now();
        let mut time = LoopTime::new(MOST, now);
        time.take(MOST + 1.0);
        assert_eq!(time.available(now + Duration::from_secs(7)), None);
        let left = time.available(now + Duration::from_secs(12)).unwrap();
        assert!((left - 2.0).abs() < 0.001);
    }

    #[test]
    fn small_calls_are_free() {
        let now = Instant::now();
        let mut time = LoopTime::new(MOST, now);
        for _ in 0..1_000_000 {
            time.take(FREE);
        }
        assert_eq!(time.available(now), Some(MOST));
    }

    #[test]
    fn endless_calls_extend_a_turn_by_at_most_a_third() {
        let (begun, each) = (Instant::now(), Duration::from_millis(125));
        let (mut time, mut now) = (LoopTime::new(MOST, begun), begun);
        while time.available(now).is_some() {
            now += each;
            time.take(each.as_secs_f64());
        }
        let held = now - begun;
        assert!(held > Duration::from_secs(3) && held < Duration::from_millis(5_500));
    }
}
