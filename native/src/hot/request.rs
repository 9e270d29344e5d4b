//! Parsing of requests in the format that clients usually send. All other formats, valid or not,
//! are parsed by Python's dispatcher, which is the reference: requests parsed here have the same
//! meaning there.

use revm::primitives::{Address, B256, Bytes, U256, hex};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Longest text of an id that is handled here.
const LONGEST_ID: usize = 128;

/// Maximum number of digits of a numeric id, so that every JSON parser reads the same number.
const ID_DIGITS: usize = 15;

/// A request object with exactly these members, none of them twice.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: &'a RawValue,
    pub(crate) method: &'a str,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

/// The first argument of eth_call and eth_estimateGas in the format of most clients.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallObject<'a> {
    from: Option<&'a str>,
    to: &'a str,
    data: Option<&'a str>,
    input: Option<&'a str>,
    value: Option<&'a str>,
    gas: Option<&'a str>,
}

/// The parsed values of a call object.
#[derive(Clone)]
pub(crate) struct Message {
    pub(crate) from: Address,
    pub(crate) to: Address,
    pub(crate) data: Bytes,
    pub(crate) value: U256,
    pub(crate) gas: Option<u64>,
    /// Whether the request names a block, which is the head.
    pub(crate) names_block: bool,
}

/// A single call or a batch.
pub(crate) enum Body<'a> {
    One(Call<'a>),
    Many(Vec<Call<'a>>),
}

/// Parse a body; return None for all other formats.
pub(crate) fn read(body: &[u8]) -> Option<Body<'_>> {
    match body.first()? {
        b'{' => serde_json::from_slice(body).ok().map(Body::One),
        b'[' => serde_json::from_slice(body).ok().map(Body::Many),
        _ => None,
    }
}

impl<'a> Call<'a> {
    /// Return the id for the answer, if the id and the version have a plain format.
    pub(crate) fn id(&self) -> Option<&'a str> {
        let id = self.id.get();
        let bytes = id.as_bytes();
        let plain = if bytes[0] == b'"' {
            id.len() <= LONGEST_ID
                && bytes.iter().all(|byte| (b' '..=b'~').contains(byte) && *byte != b'\\')
        } else {
            id.len() <= ID_DIGITS
                && bytes.iter().all(u8::is_ascii_digit)
                && (bytes[0] != b'0' || id.len() == 1)
        };
        (plain && self.jsonrpc == "2.0").then_some(id)
    }

    /// Return whether there are no params.
    pub(crate) fn has_no_params(&self) -> bool {
        self.params.is_none_or(|params| params.get() == "[]")
    }

    /// Return the params if all are plain strings.
    pub(crate) fn texts(&self) -> Option<Vec<&'a str>> {
        serde_json::from_str(self.params?.get()).ok()
    }

    /// Return the requested block, and whether to include full transactions.
    pub(crate) fn block(&self) -> Option<(&'a str, bool)> {
        serde_json::from_str(self.params?.get()).ok()
    }

    /// Return the arguments of a call at the head.
    pub(crate) fn message(&self) -> Option<Message> {
        let params = self.params?.get();
        let with_block = serde_json::from_str::<[&RawValue; 2]>(params);
        let names_block = with_block.is_ok();
        let object: CallObject<'_> = match with_block {
            Ok([object, block]) => {
                let block: &str = serde_json::from_str(block.get()).ok()?;
                is_head(block).then(|| serde_json::from_str(object.get()).ok()).flatten()?
            }
            Err(_) => serde_json::from_str::<[CallObject<'_>; 1]>(params).ok().map(|[one]| one)?,
        };
        let data = match (object.data, object.input) {
            (Some(_), Some(_)) => return None,
            (data, input) => data.or(input),
        };
        Some(Message {
            from: match object.from {
                Some(from) => address(from)?,
                None => Address::ZERO,
            },
            to: address(object.to)?,
            data: match data {
                Some(data) => hex::decode(digits(data)?).ok()?.into(),
                None => Bytes::new(),
            },
            value: match object.value {
                Some(value) => quantity(value)?,
                None => U256::ZERO,
            },
            gas: match object.gas {
                Some(gas) => Some(quantity(gas)?.try_into().ok()?),
                None => None,
            },
            names_block,
        })
    }
}

/// Return whether a block tag means the last accepted block in every method. Whether safe and
/// finalized do depends on a setting, so Python answers these.
pub(crate) fn is_head(block: &str) -> bool {
    matches!(block, "latest" | "accepted")
}

/// Return the text after 0x; a second 0x is rejected, because the decoder would skip it.
fn digits(text: &str) -> Option<&str> {
    text.strip_prefix("0x").filter(|digits| !digits.starts_with("0x"))
}

pub(crate) fn address(text: &str) -> Option<Address> {
    fixed::<20>(text).map(Address::from)
}

pub(crate) fn word(text: &str) -> Option<B256> {
    fixed::<32>(text).map(B256::from)
}

/// Parse a storage slot, whose leading zeros may be missing.
pub(crate) fn slot(text: &str) -> Option<B256> {
    let digits = digits(text)?.as_bytes();
    let mut all = [b'0'; 64];
    if digits.is_empty() || digits.len() > all.len() {
        return None;
    }
    all[64 - digits.len()..].copy_from_slice(digits);
    let mut value = B256::ZERO;
    hex::decode_to_slice(all, value.as_mut_slice()).ok()?;
    Some(value)
}

fn fixed<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = digits(text).filter(|digits| digits.len() == 2 * N)?;
    let mut value = [0; N];
    hex::decode_to_slice(digits, &mut value).ok()?;
    Some(value)
}

/// Parse a number of at most 256 bits without leading zeros.
fn quantity(text: &str) -> Option<U256> {
    let digits = digits(text)?;
    let plain = matches!(digits.len(), 1..=64)
        && (digits == "0" || !digits.starts_with('0'))
        && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if plain { U256::from_str_radix(digits, 16).ok() } else { None }
}

/// Parse a block number.
pub(crate) fn number(text: &str) -> Option<u64> {
    quantity(text)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(body: &str) -> Option<Call<'_>> {
        match read(body.as_bytes())? {
            Body::One(call) => Some(call),
            Body::Many(_) => None,
        }
    }

    #[test]
    fn usual_requests_are_read() {
        let body = r#"{"id":7,"jsonrpc":"2.0","method":"eth_x","params":["a","latest"]}"#;
        let call = one(body).unwrap();
        assert_eq!((call.id(), call.method), (Some("7"), "eth_x"));
        assert_eq!(call.texts(), Some(vec!["a", "latest"]));
        let call = one(r#"{"jsonrpc":"2.0","method":"m","id":"a b"}"#).unwrap();
        assert!(call.id() == Some("\"a b\"") && call.has_no_params());
    }

    #[test]
    fn other_formats_are_left_to_the_dispatcher() {
        for body in [
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","more":1}"#,
            r#"{"jsonrpc":"2.0","method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"\u006d"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
            "[",
            "",
            "7",
        ] {
            assert!(one(body).is_none(), "{body}");
        }
        for id in ["-1", "1.5", "01", "1e3", "null", "true", "{}", "[]", r#""\n""#, "\"é\""] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            assert!(one(&body).is_none_or(|call| call.id().is_none()), "{id}");
        }
        let body = r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#;
        assert_eq!(one(body).unwrap().id(), None);
    }

    #[test]
    fn numbers_and_bytes_have_one_form() {
        assert_eq!(quantity("0x10"), Some(U256::from(16)));
        assert_eq!(quantity("0x0"), Some(U256::ZERO));
        for text in ["", "0x", "0x00", "0x01", "10", "0X1", "0x0x1", "0x1_0", "0x+1", "0xg"] {
            assert_eq!(quantity(text), None, "{text}");
        }
        assert_eq!(quantity(&format!("0x1{}", "0".repeat(64))), None);
        let text = format!("0x{}", "aB".repeat(20));
        assert_eq!(address(&text), Some(Address::repeat_byte(0xab)));
        for text in [&text[2..], &text[..41], "0x0x", &format!("0x0x{}", "0".repeat(38))] {
            assert_eq!(address(text), None, "{text}");
        }
    }

    #[test]
    fn slots_may_be_short() {
        let five = B256::with_last_byte(5);
        let long = format!("0x{}5", "0".repeat(63));
        for text in ["0x5", "0x05", "0x00005", long.as_str()] {
            assert_eq!(slot(text), Some(five), "{text}");
        }
        assert_eq!(slot(&format!("0x{}", "aB".repeat(32))), Some(B256::repeat_byte(0xab)));
        for text in ["", "0x", "5", "0X5", "0xg", "0x0x5", &format!("0x0{}", "a".repeat(64))] {
            assert_eq!(slot(text), None, "{text}");
        }
    }

    #[test]
    fn ambiguous_calls_are_left_to_the_dispatcher() {
        let to = format!("0x{}", "11".repeat(20));
        let read = |params: &str| {
            let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
            one(&body)
                .unwrap()
                .message()
                .map(|wanted| (wanted.data, wanted.gas, wanted.names_block))
        };
        let data = Bytes::from_static(&[0xab]);
        let plain = format!(r#"[{{"to":"{to}","data":"0xab","gas":"0x5"}},"latest"]"#);
        assert_eq!(read(&plain), Some((data.clone(), Some(5), true)));
        let short = format!(r#"[{{"to":"{to}","input":"0xab"}}]"#);
        assert_eq!(read(&short), Some((data, None, false)));
        for params in [
            format!(r#"[{{"to":"{to}"}},"pending"]"#),
            format!(r#"[{{"to":"{to}"}},"0x1"]"#),
            format!(r#"[{{"to":"{to}"}},"latest",{{}}]"#),
            format!(r#"[{{"to":"{to}","data":"0x","input":"0x"}}]"#),
            format!(r#"[{{"to":"{to}","gasPrice":"0x1"}}]"#),
            format!(r#"[{{"to":"{to}","data":"0xa"}}]"#),
            format!(r#"[{{"to":"{to}","gas":"0x{}"}}]"#, "f".repeat(17)),
            r#"[{"data":"0x"}]"#.into(),
            "[]".into(),
            "{}".into(),
        ] {
            assert_eq!(read(&params), None, "{params}");
        }
    }
}
