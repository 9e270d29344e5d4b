//! Threads for work that an event loop cannot do within one turn, and the notification of the loop
//! about results.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    os::{
        fd::{AsRawFd, RawFd},
        unix::net::UnixStream,
    },
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
};

/// Maximum number of jobs that may wait for a thread.
const MOST_WAITING: usize = 64;

/// Does a job; None: no result.
pub(crate) type Work<J, F> = dyn Fn(J) -> Option<F> + Send + Sync;

struct State<J, F> {
    waiting: VecDeque<(u64, J)>,
    finished: Vec<(u64, Option<F>)>,
    /// Number of jobs whose results have not been taken yet.
    under_way: usize,
    ended: bool,
}

struct Shared<J, F> {
    state: Mutex<State<J, F>>,
    come: Condvar,
    /// Receives a byte when the first result is added to an empty list.
    bell: UnixStream,
}

impl<J, F> Shared<J, F> {
    fn state(&self) -> MutexGuard<'_, State<J, F>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Wait for the next job; return None when the pool has ended.
    fn next(&self) -> Option<(u64, J)> {
        let mut state = self.state();
        loop {
            if state.ended {
                return None;
            }
            if let Some(job) = state.waiting.pop_front() {
                return Some(job);
            }
            state = self.come.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    fn work_off(&self, work: &Work<J, F>) {
        while let Some((token, job)) = self.next() {
            let found = catch_unwind(AssertUnwindSafe(|| work(job))).unwrap_or_default();
            let mut state = self.state();
            state.finished.push((token, found));
            if state.finished.len() == 1 {
                // If the socket is full, the reader is already notified.
                let _ = (&self.bell).write(&[0]);
            }
        }
    }
}

/// Threads of one process, for one event loop. When the pool is dropped, its threads finish their
/// current job and end.
pub(crate) struct Pool<J, F> {
    shared: Arc<Shared<J, F>>,
    heard: UnixStream,
    process: u32,
}

impl<J: Send + 'static, F: Send + 'static> Pool<J, F> {
    pub(crate) fn start(threads: usize, work: Arc<Work<J, F>>) -> io::Result<Self> {
        let (heard, bell) = UnixStream::pair()?;
        heard.set_nonblocking(true)?;
        bell.set_nonblocking(true)?;
        let state =
            State { waiting: VecDeque::new(), finished: Vec::new(), under_way: 0, ended: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), come: Condvar::new(), bell });
        let pool = Self { shared, heard, process: process::id() };
        for _ in 0..threads {
            let (shared, work) = (Arc::clone(&pool.shared), Arc::clone(&work));
            thread::Builder::new().name("calls".into()).spawn(move || shared.work_off(&*work))?;
        }
        Ok(pool)
    }

    /// Return whether this process started the threads: they do not exist in a forked process.
    pub(crate) fn is_here(&self) -> bool {
        self.process == process::id()
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.shared.state().under_way > 0
    }

    /// Queue a job; return false if too many are waiting.
    pub(crate) fn submit(&self, token: u64, job: J) -> bool {
        let mut state = self.shared.state();
        if state.waiting.len() >= MOST_WAITING {
            return false;
        }
        state.under_way += 1;
        state.waiting.push_back((token, job));
        self.shared.come.notify_one();
        true
    }

    /// Return the file descriptor that becomes readable when there are results.
    pub(crate) fn fileno(&self) -> RawFd {
        self.heard.as_raw_fd()
    }

    /// Return the results that have not been taken yet, each with its job's token.
    pub(crate) fn finished(&self) -> Vec<(u64, Option<F>)> {
        // Clear the notification first, so that no notification of a later result is lost.
        let _ = (&self.heard).read(&mut [0; 16]);
        let mut state = self.shared.state();
        let finished = std::mem::take(&mut state.finished);
        state.under_way -= finished.len();
        finished
    }
}

impl<J, F> Drop for Pool<J, F> {
    fn drop(&mut self) {
        self.shared.state().ended = true;
        self.shared.come.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashMap,
        sync::{Barrier, mpsc},
        time::Duration,
    };

    use super::*;

    const THREADS: usize = 2;

    /// Wait for `count` results.
    fn results<F: Send + 'static>(pool: &Pool<u64, F>, count: usize) -> HashMap<u64, Option<F>> {
        let mut found = HashMap::new();
        pool.heard.set_nonblocking(false).unwrap();
        while found.len() < count {
            found.extend(pool.finished());
        }
        pool.heard.set_nonblocking(true).unwrap();
        found
    }

    #[test]
    fn each_result_has_the_token_of_its_job() {
        let pool = Pool::start(THREADS, Arc::new(|job| Some(job * 10))).unwrap();
        for token in 0..50 {
            assert!(pool.submit(token, token + 1));
        }
        let expected = (0..50).map(|token| (token, Some((token + 1) * 10)));
        assert_eq!(results(&pool, 50), expected.collect());
    }

    #[test]
    fn jobs_run_concurrently() {
        let both = Arc::new(Barrier::new(THREADS));
        let pool = Pool::start(
            THREADS,
            Arc::new(move |job| {
                both.wait();
                Some(job)
            }),
        )
        .unwrap();
        for token in 0..THREADS as u64 {
            pool.submit(token, token);
        }
        assert_eq!(results(&pool, THREADS).len(), THREADS);
    }

    #[test]
    fn it_is_busy_until_all_results_are_taken() {
        let pool = Pool::start(THREADS, Arc::new(Some)).unwrap();
        assert!(!pool.is_busy());
        pool.submit(1, 1);
        assert!(pool.is_busy());
        results(&pool, 1);
        assert!(!pool.is_busy());
        assert_eq!(pool.finished(), []);
    }

    #[test]
    fn a_panicking_job_has_no_result_and_its_thread_continues() {
        let pool = Pool::start(1, Arc::new(|job| (job != 1).then_some(job).or_else(|| panic!())));
        let pool = pool.unwrap();
        pool.submit(1, 1);
        pool.submit(2, 2);
        assert_eq!(results(&pool, 2), HashMap::from([(1, None), (2, Some(2))]));
    }

    #[test]
    fn the_number_of_waiting_jobs_is_limited() {
        let (begun, has_begun) = mpsc::channel();
        let (goes_on, may_go_on) = mpsc::channel::<()>();
        let (begun, may_go_on) = (Mutex::new(begun), Mutex::new(may_go_on));
        let pool = Pool::start(
            1,
            Arc::new(move |job: u64| {
                begun.lock().unwrap().send(job).unwrap();
                let _ = may_go_on.lock().unwrap().recv();
                Some(job)
            }),
        )
        .unwrap();
        assert!(pool.submit(0, 0));
        has_begun.recv().unwrap();
        let taken = (1..1_000).take_while(|token| pool.submit(*token, *token)).count();
        assert_eq!(taken, MOST_WAITING);
        drop(goes_on);
        assert_eq!(results(&pool, 1 + MOST_WAITING).len(), 1 + MOST_WAITING);
        assert!(pool.submit(0, 0));
    }

    #[test]
    fn dropping_it_ends_its_threads() {
        let (work, ended) = mpsc::channel::<()>();
        let work = Mutex::new(work);
        let pool = Pool::start(
            THREADS,
            Arc::new(move |job: u64| {
                let _held = &work;
                Some(job)
            }),
        );
        drop(pool);
        assert_eq!(
            ended.recv_timeout(Duration::from_secs(60)),
            Err(mpsc::RecvTimeoutError::Disconnected)
        );
    }
}
