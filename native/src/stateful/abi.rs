//! Arguments of calls, decoded like go-ethereum's ABI library, with its error messages. Bytes behind
//! the arguments are ignored.

use revm::primitives::{Address, U256};

/// The arguments of a call, without the selector.
pub(super) struct Arguments<'a>(&'a [u8]);

impl<'a> Arguments<'a> {
    pub(super) fn new(data: &'a [u8]) -> Result<Self, String> {
        if data.is_empty() {
            let words = "abi: attempting to unmarshal an empty string while arguments are expected";
            return Err(words.into());
        }
        Ok(Self(data))
    }

    /// Return the number at a place.
    pub(super) fn number(&self, place: usize) -> Result<U256, String> {
        let end = 32 * (place + 1);
        match self.0.get(end - 32..end) {
            Some(word) => Ok(U256::from_be_slice(word)),
            None => Err(too_short(self.0.len(), U256::from(end))),
        }
    }

    /// Return the address at a place; the bytes before it are ignored.
    pub(super) fn address(&self, place: usize) -> Result<Address, String> {
        Ok(Address::from_word(self.number(place)?.into()))
    }

    /// Return the 32-bit number at a place.
    pub(super) fn uint32(&self, place: usize) -> Result<u32, String> {
        u32::try_from(self.number(place)?)
            .map_err(|_| "abi: improperly encoded uint32 value".to_owned())
    }

    /// Return the bytes whose offset is at a place.
    pub(super) fn dynamic(&self, place: usize) -> Result<&'a [u8], String> {
        let size = self.0.len();
        let offset = self.number(place)?;
        let start = usize::try_from(offset).ok().and_then(|offset| offset.checked_add(32));
        let Some(start) = start.filter(|start| *start <= size) else {
            let end = sum(offset, U256::from(32));
            return Err(format!(
                "abi: cannot marshal in to go slice: offset {end} would go over slice boundary \
                 (len={size})"
            ));
        };
        let length = U256::from_be_slice(&self.0[start - 32..start]);
        let short = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
        if let Some(end) = short.filter(|end| *end <= size) {
            return Ok(&self.0[start..end]);
        }
        let end = sum(U256::from(start), length);
        let is_wide = length.bit_len() > 63 || (U256::from(start) + length).bit_len() > 63;
        Err(if is_wide {
            format!("abi: length larger than int64: {end}")
        } else {
            too_short(size, U256::from(start) + length)
        })
    }
}

/// Return a sum in decimal digits; it may have 257 bits.
fn sum(first: U256, second: U256) -> String {
    match first.checked_add(second) {
        Some(total) => total.to_string(),
        None => {
            let wide = revm::primitives::ruint::Uint::<320, 5>::from(first)
                + revm::primitives::ruint::Uint::<320, 5>::from(second);
            wide.to_string()
        }
    }
}

fn too_short(size: usize, needed: U256) -> String {
    format!("abi: cannot marshal in to go type: length insufficient {size} require {needed}")
}
