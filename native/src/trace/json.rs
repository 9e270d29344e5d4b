//! A hand-written JSON encoder, because there may be millions of steps, which consist mostly of
//! numbers.

use revm::primitives::U256;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Write a number in decimal.
pub(super) fn number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

/// Write `,"name":`.
macro_rules! member {
    ($out:expr, $name:literal) => {
        $out.extend_from_slice(concat!(",\"", $name, "\":").as_bytes())
    };
}
pub(super) use member;

/// Write text that needs no escapes.
pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Write a quantity: hexadecimal without leading zeros.
pub(super) fn quantity(out: &mut Vec<u8>, value: &U256) {
    let limbs = value.as_limbs();
    out.extend_from_slice(b"\"0x");
    match (0..4).rev().find(|limb| limbs[*limb] != 0) {
        None => out.push(b'0'),
        Some(highest) => {
            digits(out, limbs[highest], 16 - limbs[highest].leading_zeros() / 4);
            for limb in (0..highest).rev() {
                digits(out, limbs[limb], 16);
            }
        }
    }
    out.push(b'"');
}

fn digits(out: &mut Vec<u8>, value: u64, count: u32) {
    let mut text = [0_u8; 16];
    let text = &mut text[..count as usize];
    for (place, digit) in text.iter_mut().rev().enumerate() {
        *digit = DIGITS[(value >> (4 * place)) as usize & 15];
    }
    out.extend_from_slice(text);
}

/// Write a 32-byte word with all its digits.
pub(super) fn word(out: &mut Vec<u8>, value: &U256) {
    out.extend_from_slice(b"\"0x");
    for limb in value.as_limbs().iter().rev() {
        digits(out, *limb, 16);
    }
    out.push(b'"');
}

/// Write a byte string.
pub(super) fn bytes(out: &mut Vec<u8>, data: &[u8]) {
    out.reserve(data.len() * 2 + 4);
    out.extend_from_slice(b"\"0x");
    for byte in data {
        let pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
        out.extend_from_slice(&pair);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn numbers_are_decimal() {
        for value in [0, 7, 10, 21_000, u64::MAX] {
            assert_eq!(written(|out| number(out, value)), value.to_string());
        }
    }

    #[test]
    fn quantities_have_no_leading_zeros() {
        for shift in 0..256 {
            let value = U256::from(1) << shift;
            assert_eq!(written(|out| quantity(out, &value)), format!("\"{value:#x}\""));
        }
        assert_eq!(written(|out| quantity(out, &U256::ZERO)), "\"0x0\"");
        assert_eq!(written(|out| quantity(out, &U256::MAX)), format!("\"{:#x}\"", U256::MAX));
    }

    #[test]
    fn words_have_all_their_digits() {
        let expected = format!("\"0x{}2a\"", "0".repeat(62));
        assert_eq!(written(|out| word(out, &U256::from(42))), expected);
        assert_eq!(written(|out| bytes(out, &[0, 0xab, 0x10])), "\"0x00ab10\"");
    }
}
