//! A process's memory of a chain's head, and the answers that need nothing else: no call into
//! Python, no interpreter lock. Python updates the memory when a block is accepted, and reads it
//! too.

mod answers;
mod bounded_map;
mod call;
mod frames;
mod logs;
mod loop_time;
mod memory;
mod pool;
mod request;
mod respond;
mod values;
mod way;
mod whole;

pub(crate) use answers::HotAnswers;
pub(crate) use frames::FrameAnswers;
pub(crate) use logs::{render_log_rows, render_logs};
pub(crate) use memory::{Head, StateMemory};
pub(crate) use whole::WholeAnswers;
