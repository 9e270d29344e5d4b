//! The C-Chain's native EVM engine for Python: blocks and calls on revm, over a state that Python
//! reads; roots and proofs of the state trie; senders of whole batches; logs for receipts and as
//! JSON; BLS signatures; KZG proofs of blobs.
//!
//! Nothing here uses Django or a database, and nothing is changed in place: all results are
//! returned.

mod access;
mod answers;
mod assets;
mod block;
mod bls;
mod call;
mod codes;
mod convert;
mod coreth;
mod environment;
mod estimate;
mod frames;
mod halt;
mod hot;
mod kzg;
mod limits;
mod message;
mod metered;
mod overlay;
mod precompile_errors;
mod precompiles;
mod reader;
mod receipts;
mod rejection;
mod runner;
mod signatures;
mod slots;
mod stateful;
mod system;
mod trace;
mod transaction;
mod trie;

use mimalloc::MiMalloc;
use pyo3::prelude::*;

/// The allocator of this crate only; Python keeps its own.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The extension module.
#[pymodule(gil_used = true)]
mod cchain_native {
    use std::sync::{Arc, atomic::Ordering};

    use pyo3::{
        create_exception,
        exceptions::PyException,
        intern,
        prelude::*,
        types::{PyBytes, PyTuple},
    };
    use revm::primitives::{Log, keccak256 as hash};

    use crate::{
        answers,
        block::{self, BlockFailure},
        call::{CallFailure, call as run_call},
        convert::{Addr, Blob, Uint, Word, difference},
        environment::{Env, Price},
        estimate::estimate as run_estimate,
        limits::{Allowance, Limits, SIZE},
        message::Message,
        reader::Reader,
        signatures,
        trace::{self, Recording, TraceFailure, Turns},
        transaction::SignedTransaction,
        trie::{self, Cache, Layout, Source, TrieFault},
    };

    create_exception!(cchain_native, InvalidBlock, PyException);
    create_exception!(cchain_native, CallRejected, PyException);
    create_exception!(cchain_native, CallInterrupted, PyException);
    create_exception!(cchain_native, TraceTooLarge, PyException);
    create_exception!(cchain_native, MissingNode, PyException);
    create_exception!(cchain_native, ForeignNode, PyException);
    create_exception!(cchain_native, MissingAccount, PyException);
    create_exception!(cchain_native, NotRemembered, PyException);

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("InvalidBlock", py.get_type::<InvalidBlock>())?;
        module.add("CallRejected", py.get_type::<CallRejected>())?;
        module.add("CallInterrupted", py.get_type::<CallInterrupted>())?;
        module.add("TraceTooLarge", py.get_type::<TraceTooLarge>())?;
        module.add("MissingNode", py.get_type::<MissingNode>())?;
        module.add("ForeignNode", py.get_type::<ForeignNode>())?;
        module.add("MissingAccount", py.get_type::<MissingAccount>())
    }

    /// Execute a block's transactions in order, including the fork's system calls before and after
    /// them.
    #[pyfunction]
    #[pyo3(signature = (env, transactions, state, *, skip_invalid))]
    fn execute_block<'py>(
        py: Python<'py>,
        env: Env,
        transactions: Vec<SignedTransaction>,
        state: Py<PyAny>,
        skip_invalid: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let spec = env.spec()?;
        let reader = Reader::new(py, state)?;
        match py.detach(|| block::execute(&env, spec, &transactions, reader, skip_invalid)) {
            Ok(block) => Ok(answers::block(py, &block)?.into_any()),
            Err(failure) => Err(invalid(failure)),
        }
    }

    /// Make the fork's system calls after a block's transactions.
    #[pyfunction]
    fn close_block<'py>(
        py: Python<'py>,
        env: Env,
        state: Py<PyAny>,
        logs: Vec<(Addr, Vec<Word>, Blob)>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let spec = env.spec()?;
        let logs: Vec<_> = logs
            .into_iter()
            .map(|(address, topics, data)| {
                let topics = topics.into_iter().map(|topic| topic.0).collect();
                Log::new_unchecked(address.0, topics, data.0)
            })
            .collect();
        let reader = Reader::new(py, state)?;
        match py.detach(|| block::close(&env, spec, reader, &logs)) {
            Ok(closed) => answers::closed(py, &closed),
            Err(failure) => Err(invalid(failure)),
        }
    }

    fn invalid(failure: BlockFailure) -> PyErr {
        match failure {
            BlockFailure::Reader(error) => error,
            BlockFailure::Invalid(words) => InvalidBlock::new_err(words),
        }
    }

    #[pymodule_export]
    use crate::bls::{
        bls_aggregate_public_keys, bls_aggregate_signatures, bls_is_signature, bls_public_key,
        bls_sign, bls_verify,
    };
    #[pymodule_export]
    use crate::environment::Environment;
    #[pymodule_export]
    use crate::hot::{
        FrameAnswers, HotAnswers, StateMemory, WholeAnswers, render_log_rows, render_logs,
    };
    #[pymodule_export]
    use crate::kzg::{
        kzg_blob_proof, kzg_cell_proofs, kzg_commitment, kzg_verify_blobs, kzg_verify_cells,
    };
    #[pymodule_export]
    use crate::receipts::encode_logs;
    #[pymodule_export]
    use crate::slots::CallSlots;

    /// Run one call on the state and discard its changes.
    #[pyfunction]
    #[pyo3(signature = (call_slots, environment, message, state, allowance, time_limit, with_access_list))]
    fn call<'py>(
        call_slots: &Bound<'py, CallSlots>,
        environment: &Bound<'py, Environment>,
        message: Message,
        state: Py<PyAny>,
        allowance: Option<Bound<'py, PyAny>>,
        time_limit: Option<f64>,
        with_access_list: bool,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let environment = environment.get();
        let reader = Reader::new(call_slots.py(), state)?;
        let answer = limited(call_slots, allowance, time_limit, |limits| {
            run_call(environment, message, reader, limits, with_access_list)
        });
        answers::call(call_slots.py(), &answer?)
    }

    /// Find the least gas with which a call succeeds.
    #[pyfunction]
    #[pyo3(signature = (call_slots, environment, message, state, allowance, time_limit, error_ratio))]
    fn estimate<'py>(
        call_slots: &Bound<'py, CallSlots>,
        environment: &Bound<'py, Environment>,
        message: Message,
        state: Py<PyAny>,
        allowance: Option<Bound<'py, PyAny>>,
        time_limit: Option<f64>,
        error_ratio: f64,
    ) -> PyResult<(Option<u64>, Option<Bound<'py, PyTuple>>)> {
        let environment = environment.get();
        let reader = Reader::new(call_slots.py(), state)?;
        let estimate = limited(call_slots, allowance, time_limit, |limits| {
            run_estimate(environment, message, reader, limits, error_ratio)
        });
        answers::estimate(call_slots.py(), &estimate?)
    }

    /// Run within a time limit and a `GasAllowance` of the port, which is charged with the used
    /// gas.
    ///
    /// With an allowance the work is short, so the interpreter lock is kept: releasing it and
    /// acquiring it again for each query to the reader would take longer than the call. Without an
    /// allowance the work runs in one of the call slots.
    fn limited<T: Send>(
        call_slots: &Bound<'_, CallSlots>,
        allowance: Option<Bound<'_, PyAny>>,
        seconds: Option<f64>,
        run: impl FnOnce(Limits<'_>) -> Result<T, CallFailure> + Send,
    ) -> PyResult<T> {
        let py = call_slots.py();
        let Some(allowance) = allowance else {
            let call_slots = Some(call_slots.get());
            return py
                .detach(|| run(Limits { seconds, call_slots, ..Limits::default() }))
                .map_err(to_exception);
        };
        let gas = allowance.getattr(intern!(py, "left"))?.extract()?;
        let used = Arc::default();
        let given = Allowance { gas, used: Arc::clone(&used) };
        let outcome = run(Limits { gas: Some(given), seconds, ..Limits::default() });
        allowance.call_method1(intern!(py, "use"), (used.load(Ordering::Relaxed),))?;
        outcome.map_err(to_exception)
    }

    fn to_exception(failure: CallFailure) -> PyErr {
        match failure {
            CallFailure::Reader(error) => error,
            CallFailure::Rejected(words) | CallFailure::GasTooLow(words) => {
                CallRejected::new_err(words)
            }
            CallFailure::Interrupted(limit) => interrupted(limit),
        }
    }

    fn interrupted(limit: &'static str) -> PyErr {
        if limit == SIZE { TraceTooLarge::new_err(limit) } else { CallInterrupted::new_err(limit) }
    }

    /// Execute an accepted block's transactions in order, and record those from `first` on.
    #[pyfunction]
    #[pyo3(signature = (call_slots, env, transactions, state, recording, first, time_limit))]
    #[expect(clippy::too_many_arguments, reason = "as many as the port has")]
    fn trace_block<'py>(
        py: Python<'py>,
        call_slots: &Bound<'py, CallSlots>,
        env: Env,
        transactions: Vec<SignedTransaction>,
        state: Py<PyAny>,
        recording: Recording,
        first: usize,
        time_limit: Option<f64>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let spec = env.spec()?;
        let turns = Turns { seconds: time_limit, call_slots: call_slots.get() };
        let reader = Reader::new(py, state)?;
        let run = || trace::block(&env, spec, &transactions, reader, &recording, first, turns);
        match py.detach(run) {
            Ok(traced) => trace::block_answer(py, &traced),
            Err(TraceFailure::Block(failure)) => Err(invalid(failure)),
            Err(TraceFailure::Interrupted(limit)) => Err(interrupted(limit)),
        }
    }

    /// Run one call on the state, record it, and discard its changes.
    #[pyfunction]
    #[pyo3(signature = (call_slots, environment, message, state, recording, validate, free, time_limit))]
    #[expect(clippy::too_many_arguments, reason = "as many as the port has")]
    fn trace_call<'py>(
        call_slots: &Bound<'py, CallSlots>,
        environment: &Bound<'py, Environment>,
        message: Message,
        state: Py<PyAny>,
        recording: Recording,
        validate: bool,
        free: bool,
        time_limit: Option<f64>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let environment = environment.get();
        let price = match (validate, free) {
            (true, _) => Price::Due,
            (false, true) => Price::Free,
            (false, false) => Price::Usual,
        };
        let reader = Reader::new(call_slots.py(), state)?;
        let traced = limited(call_slots, None, time_limit, |limits| {
            trace::call(environment, message, reader, &recording, price, limits)
        });
        trace::call_answer(call_slots.py(), &traced?)
    }

    /// Return the signer of each (digest, r, s, parity), or None if the signature is invalid.
    #[pyfunction]
    fn recover_senders<'py>(
        py: Python<'py>,
        signatures: Vec<(Word, Uint, Uint, u8)>,
    ) -> Vec<Option<Bound<'py, PyBytes>>> {
        let signatures: Vec<_> = signatures
            .into_iter()
            .map(|(digest, r, s, parity)| (digest.0, r.0.into(), s.0.into(), parity))
            .collect();
        py.detach(|| signatures::recover_all(&signatures))
            .into_iter()
            .map(|address| address.map(|address| PyBytes::new(py, address.as_slice())))
            .collect()
    }

    /// Return the Keccak-256 hash.
    #[pyfunction]
    fn keccak256<'py>(py: Python<'py>, data: &[u8]) -> Bound<'py, PyBytes> {
        PyBytes::new(py, hash(data).as_slice())
    }

    fn raised(fault: TrieFault) -> PyErr {
        match fault {
            TrieFault::Missing(words) => MissingNode::new_err(words),
            TrieFault::Foreign(words) => ForeignNode::new_err(words),
            TrieFault::NoAccount(words) => MissingAccount::new_err(words),
            TrieFault::Reader(error) => error,
        }
    }

    /// The state trie over stored nodes, with a cache of up to `capacity` bytes of nodes.
    #[pyclass(frozen)]
    struct StateTrie {
        cache: Cache,
        layout: Layout,
    }

    #[pymethods]
    impl StateTrie {
        #[new]
        #[pyo3(signature = (capacity, of_coreth = false))]
        fn new(capacity: usize, of_coreth: bool) -> Self {
            let layout = if of_coreth { Layout::Coreth } else { Layout::Ethereum };
            Self { cache: Cache::new(capacity), layout }
        }

        /// Return the new root and the changed nodes by key, after changes to the state with this
        /// root.
        fn update<'py>(
            &self,
            py: Python<'py>,
            root: Word,
            changes: &Bound<'py, PyAny>,
            reader: Py<PyAny>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let difference = difference(changes)?;
            let source = Source { reader, cache: &self.cache, root: root.0 };
            let update =
                py.detach(|| trie::update(difference, &source, self.layout)).map_err(raised)?;
            Ok(answers::trie_update(py, &update)?.into_any())
        }

        /// Return an account and some of its slots, with the nodes that prove them.
        fn prove<'py>(
            &self,
            py: Python<'py>,
            root: Word,
            address: Addr,
            slots: Vec<Word>,
            reader: Py<PyAny>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let slots: Vec<_> = slots.into_iter().map(|slot| slot.0).collect();
            let source = Source { reader, cache: &self.cache, root: root.0 };
            let proof = py
                .detach(|| trie::prove(address.0, &slots, &source, self.layout))
                .map_err(raised)?;
            Ok(answers::proof(py, &proof)?.into_any())
        }

        /// Apply the update with this root to the cache; its nodes are now stored.
        fn commit(&self, py: Python<'_>, root: Word) {
            py.detach(|| self.cache.commit(root.0));
        }
    }

    /// Return the root of the trie that maps the RLP of each index to an item.
    #[pyfunction]
    fn ordered_root<'py>(py: Python<'py>, items: Vec<Vec<u8>>) -> Bound<'py, PyBytes> {
        let root = py.detach(|| trie::ordered_root(&items));
        PyBytes::new(py, root.as_slice())
    }
}
