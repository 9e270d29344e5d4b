//! WebSocket frames (RFC 6455, 5.2) that are whole text messages, and the frames that answer them.

use std::time::Instant;

use pyo3::{prelude::*, types::PyBytes};

use crate::hot::{answers::HotAnswers, respond::BatchLimits};

/// Largest frame in bytes that is answered regardless of the other work in this turn of the event
/// loop.
const LONGEST_FRAME: usize = 1_024;

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
    /// seconds taken.
    on_answered: Py<PyAny>,
    limits: BatchLimits,
    longest: usize,
}

#[pymethods]
impl FrameAnswers {
    /// Return the frame that answers one whole frame, or None if it cannot be answered here.
    fn serve<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let now = Instant::now();
        let Some(message) = message(data) else { return Ok(None) };
        let answered = self.answers.get().whole(&message, self.limits, self.longest, None, now);
        let Ok((answer, names)) = answered else { return Ok(None) };
        self.on_answered.bind(py).call1((names.to_python(py)?, now.elapsed().as_secs_f64()))?;
        Ok(Some(PyBytes::new(py, &frame(&answer))))
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

/// Return the message in a client's frame, if the data is exactly one frame with a short text
/// message.
fn message(data: &[u8]) -> Option<Vec<u8>> {
    let (&[first, second], rest) = data.split_first_chunk()?;
    if first != WHOLE_TEXT || second & MASK_BIT == 0 || data.len() > LONGEST_FRAME {
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
    let (mask, masked) = rest.split_first_chunk::<4>()?;
    let unmasked = masked.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask);
    (masked.len() == length).then(|| unmasked.collect())
}

/// Return the frame of a server's text message, which has no mask.
fn frame(text: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(text.len() + 10);
    frame.push(WHOLE_TEXT);
    if let Some(short) = u8::try_from(text.len()).ok().filter(|short| *short < IN_TWO_BYTES) {
        frame.push(short);
    } else if let Ok(length) = u16::try_from(text.len()) {
        frame.push(IN_TWO_BYTES);
        frame.extend_from_slice(&length.to_be_bytes());
    } else {
        frame.push(IN_EIGHT_BYTES);
        frame.extend_from_slice(&(text.len() as u64).to_be_bytes());
    }
    frame.extend_from_slice(text);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASK: [u8; 4] = [1, 2, 3, 4];

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
            assert_eq!(message(&masked(&text).0), Some(text), "{length}");
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
            [&whole[..], b"x"].concat(),
            [&whole[..], &whole[..]].concat(),
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
            assert_eq!(message(&other), None, "{other:?}");
        }
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
