//! What calls may take of an event loop's time where its turns are not known.

use std::time::Instant;

/// Which part of the time that goes by calls may have, in the long run.
const SHARE: f64 = 0.25;

/// Which part of all the time must be there for a call to be begun.
const BEGUN_FROM: f64 = 0.25;

/// Seconds of each call that do not count: it is not much longer than any other question.
const FREE: f64 = 20e-6;

/// Seconds that calls may take, of all doors of a process together: they come back as time goes by, but a quarter as
/// fast. So calls one after the other, of however many clients, make a turn of a loop longer by a third of what else
/// it does and of all the time, and by what the last one is late.
pub(crate) struct LoopTime {
    most: f64,
    /// Less than nothing where a call took longer than it should.
    left: f64,
    /// When it was so much.
    at: Instant,
}

impl LoopTime {
    pub(crate) fn new(most: f64, now: Instant) -> Self {
        Self { most, left: most, at: now }
    }

    /// What a call may take that is begun now; None where it should not be.
    pub(crate) fn available(&mut self, now: Instant) -> Option<f64> {
        let gone = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + gone * SHARE).min(self.most);
        self.at = now;
        (self.left > 0.0 && self.left >= self.most * BEGUN_FROM).then_some(self.left)
    }

    /// Take off what a call has taken.
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
    fn all_of_it_is_there_at_first_and_never_more() {
        let now = Instant::now();
        let mut time = LoopTime::new(MOST, now);
        assert_eq!(time.available(now), Some(MOST));
        assert_eq!(time.available(now + Duration::from_secs(9)), Some(MOST));
    }

    #[test]
    fn without_any_no_call_is_begun() {
        let now = Instant::now();
        assert_eq!(LoopTime::new(0.0, now).available(now), None);
    }

    #[test]
    fn too_little_is_nothing() {
        let now = Instant::now();
        let mut time = LoopTime::new(MOST, now);
        time.take(2.5);
        assert!(time.available(now).is_some());
        time.take(0.75);
        assert_eq!(time.available(now), None);
    }

    #[test]
    fn it_comes_back_a_quarter_as_fast_as_time_goes_by_and_what_was_too_much_first() {
        let now = Instant::now();
        let mut time = LoopTime::new(MOST, now);
        time.take(MOST + 1.0);
        assert_eq!(time.available(now + Duration::from_secs(7)), None);
        let left = time.available(now + Duration::from_secs(12)).unwrap();
        assert!((left - 2.0).abs() < 0.001);
    }

    #[test]
    fn small_calls_are_as_free_as_other_questions() {
        let now = Instant::now();
        let mut time = LoopTime::new(MOST, now);
        for _ in 0..1_000_000 {
            time.take(FREE);
        }
        assert_eq!(time.available(now), Some(MOST));
    }

    #[test]
    fn calls_without_end_hold_a_loop_for_a_third_longer_than_it() {
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
