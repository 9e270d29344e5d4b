//! WebSocket frames (RFC 6455, 5.2) that are whole text messages, and the frames that answer them.

use std::time::Instant;

use pyo3::{prelude::*, types::PyBytes};

use crate::hot::{
    answers::HotAnswers,
    respond::{BatchLimits, Names},
};

/// Largest frame in bytes that is answered regardless of the other work in this turn of the event
/// loop.
const LONGEST_FRAME: usize = 1_024;

/// Maximum number of frames that are answered at once, because other connections wait.
const MOST_FRAMES: usize = 256;

/// First byte of a frame with a whole text message.
const WHOLE_TEXT: u8 = 0x81;

/// Set in the second byte of every frame from a client.
const MASK_BIT: u8 = 0x80;

/// Values of the short length that mean that the length follows in two or eight bytes.
const IN_TWO_BYTES: u8 = 126;
const IN_EIGHT_BYTES: u8 = 127;

/// Answers to whole frames of one API.
#[pyclass(frozen)]
pub(crate) struct FrameAnswers {
    answers: Py<HotAnswers>,
    /// Called with the names of the answered calls, as returned by `HotAnswers.answer`, and the
    /// seconds taken; once for all frames that are answered together.
    on_answered: Py<PyAny>,
    limits: BatchLimits,
    longest: usize,
}

#[pymethods]
impl FrameAnswers {
    /// Return the frames that answer the first whole frames of the data, and the number of bytes
    /// answered. Return None if the first frame cannot be answered here.
    fn serve<'py>(
        &self,
        py: Python<'py>,
        data: &[u8],
    ) -> PyResult<Option<(Bound<'py, PyBytes>, usize)>> {
        let begun = Instant::now();
        let mut out = Vec::new();
        let mut counts = CallCounts::default();
        let mut done = 0;
        for _ in 0..MOST_FRAMES {
            let Some((message, size)) = first_message(&data[done..]) else { break };
            let answers = self.answers.get();
            let now = Instant::now();
            let answered = answers.whole(&message, self.limits, self.longest, None, now);
            let Ok((answer, names)) = answered else { break };
            counts.add(&names);
            push_frame(&mut out, &answer);
            done += size;
            if out.len() >= self.longest {
                break;
            }
        }
        if done == 0 {
            return Ok(None);
        }
        self.on_answered
            .bind(py)
            .call1((counts.names().to_python(py)?, begun.elapsed().as_secs_f64()))?;
        Ok(Some((PyBytes::new(py, &out), done)))
    }
}

impl FrameAnswers {
    pub(crate) fn new(
        answers: Py<HotAnswers>,
        on_answered: Py<PyAny>,
        limits: BatchLimits,
        longest: usize,
    ) -> Self {
        Self { answers, on_answered, limits, longest }
    }
}

/// The number of answered calls by method.
#[derive(Default)]
struct CallCounts(Vec<(String, usize)>);

impl CallCounts {
    fn add(&mut self, names: &Names<'_>) {
        match names {
            Names::One(method) => self.count(method, 1),
            Names::Many(counts) => {
                counts.iter().for_each(|(method, count)| self.count(method, *count));
            }
        }
    }

    fn count(&mut self, method: &str, calls: usize) {
        match self.0.iter_mut().find(|(known, _)| known == method) {
            Some((_, count)) => *count += calls,
            None => self.0.push((method.to_owned(), calls)),
        }
    }

    fn names(&self) -> Names<'_> {
        match &self.0[..] {
            [(method, 1)] => Names::One(method),
            counts => Names::Many(counts.iter().map(|(name, calls)| (&name[..], *calls)).collect()),
        }
    }
}

/// Return the message in the first frame from a client, and the size of the frame, if it is a whole
/// frame with a short text message.
fn first_message(data: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (&[first, second], rest) = data.split_first_chunk()?;
    if first != WHOLE_TEXT || second & MASK_BIT == 0 {
        return None;
    }
    let (length, rest) = match second & !MASK_BIT {
        IN_EIGHT_BYTES => return None,
        IN_TWO_BYTES => {
            let (length, rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_be_bytes(*length)), rest)
        }
        short => (usize::from(short), rest),
    };
    let (mask, rest) = rest.split_first_chunk::<4>()?;
    let size = data.len() - rest.len() + length;
    let masked = rest.get(..length).filter(|_| size <= LONGEST_FRAME)?;
    let unmasked = masked.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask);
    Some((unmasked.collect(), size))
}

/// Append the frame of a server's text message, which has no mask.
fn push_frame(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len() + 10);
    out.push(WHOLE_TEXT);
    if let Some(short) = u8::try_from(text.len()).ok().filter(|short| *short < IN_TWO_BYTES) {
        out.push(short);
    } else if let Ok(length) = u16::try_from(text.len()) {
        out.push(IN_TWO_BYTES);
        out.extend_from_slice(&length.to_be_bytes());
    } else {
        out.push(IN_EIGHT_BYTES);
        out.extend_from_slice(&(text.len() as u64).to_be_bytes());
    }
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASK: [u8; 4] = [1, 2, 3, 4];

    fn frame(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push_frame(&mut out, text);
        out
    }

    /// Return a client's frame, and the offset of its mask.
    fn masked(text: &[u8]) -> (Vec<u8>, usize) {
        let mut data = frame(text);
        let place = data.len() - text.len();
        data[1] |= MASK_BIT;
        for (nth, byte) in data[place..].iter_mut().enumerate() {
            *byte ^= MASK[nth % 4];
        }
        data.splice(place..place, MASK);
        (data, place)
    }

    #[test]
    fn a_frame_contains_the_sent_message() {
        for length in [0, 1, 3, 4, 5, 125, 126, 127, 128, 1_000] {
            let text = vec![b'x'; length];
            let data = masked(&text).0;
            let size = data.len();
            for rest in [&b""[..], b"x", &data] {
                let found = first_message(&[&data[..], rest].concat());
                assert_eq!(found, Some((text.clone(), size)), "{length}");
            }
        }
    }

    #[test]
    fn other_frames_are_not_answered() {
        let (whole, place) = masked(b"{}");
        assert_eq!(whole.len(), place + 4 + 2);
        let changed = |index: usize, byte: u8| {
            let mut data = whole.clone();
            data[index] = byte;
            data
        };
        let others = [
            whole[..whole.len() - 1].to_vec(),
            whole[..place + 2].to_vec(),
            whole[..1].to_vec(),
            Vec::new(),
            changed(0, 0x01),
            changed(0, 0x82),
            changed(0, 0xc1),
            changed(1, 2),
            changed(1, MASK_BIT | IN_EIGHT_BYTES),
            changed(1, MASK_BIT | IN_TWO_BYTES),
            masked(&[b'x'; LONGEST_FRAME]).0,
        ];
        for other in others {
            assert_eq!(first_message(&other), None, "{other:?}");
        }
    }

    #[test]
    fn calls_are_counted_by_method() {
        let mut counts = CallCounts::default();
        counts.add(&Names::One("a"));
        assert!(matches!(counts.names(), Names::One("a")));
        counts.add(&Names::Many(vec![("b", 2), ("a", 3)]));
        counts.add(&Names::One("b"));
        let Names::Many(found) = counts.names() else { panic!("several calls") };
        assert_eq!(found, [("a", 4), ("b", 3)]);
    }

    #[test]
    fn the_length_takes_as_few_bytes_as_possible() {
        for (length, head) in [
            (0, vec![0x81, 0]),
            (125, vec![0x81, 125]),
            (126, vec![0x81, 126, 0, 126]),
            (65_535, vec![0x81, 126, 255, 255]),
            (65_536, vec![0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] {
            assert_eq!(frame(&vec![b'x'; length])[..head.len()], head);
        }
    }
}
