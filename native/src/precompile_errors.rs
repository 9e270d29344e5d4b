//! Go-ethereum's errors of precompiles. Go-ethereum decodes the input element by element and names
//! the first fault; revm checks in another order and has fewer reasons, so this module examines the
//! input of a failed precompile again. Only top calls and traces need it.

use std::borrow::Cow;

use blst::{BLST_ERROR, min_pk::PublicKey};
use revm::{
    precompile::{
        PrecompileHalt, bls12_381, bls12_381_const as bls, bls12_381_utils, bn254, modexp,
        utilities::right_pad_vec,
    },
    primitives::{Address, U256, uint},
};

use crate::halt;

const INPUT_LENGTH: &str = "invalid input length";
const FIELD_ENCODING: &str = "invalid fp.Element encoding";
const OFF_CURVE: &str = "point is not on curve";
const BLS_OFF_CURVE: &str = "invalid point: not on curve";

/// The modulus of BN254's base field.
const BN_MODULUS: U256 =
    uint!(0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47_U256);
/// The constant of the curve of BN254's second group, 3 / (9 + i).
const BN_TWIST: Fp2 = Fp2(
    uint!(0x2b149d40ceb8aaae81be18991be06ac3b5b4c5e559dbefa33267e6dc24a138e5_U256),
    uint!(0x009713b03af0fed4cd2cafadeed8fdf4a74fa084e52d1852e4a2bd0685c315d2_U256),
);
const BN_FIELD: usize = 32;
const BN_G1: usize = 2 * BN_FIELD;

/// The modulus of BLS12-381's base field.
const BLS_MODULUS: [u8; bls::FP_LENGTH] = [
    0x1a, 0x01, 0x11, 0xea, 0x39, 0x7f, 0xe6, 0x9a, 0x4b, 0x1b, 0xa7, 0xb6, 0x43, 0x4b, 0xac, 0xd7,
    0x64, 0x77, 0x4b, 0x84, 0xf3, 0x85, 0x12, 0xbf, 0x67, 0x30, 0xd2, 0xa0, 0xf6, 0xb0, 0xf6, 0x24,
    0x1e, 0xab, 0xff, 0xfe, 0xb1, 0x53, 0xff, 0xff, 0xb9, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xaa, 0xab,
];
/// The order of BLS12-381's groups.
const BLS_ORDER: U256 =
    uint!(0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001_U256);

/// The scalar for multiplications on BLS12-381 that only check a point.
const ONE: [u8; bls::SCALAR_LENGTH] = {
    let mut one = [0; bls::SCALAR_LENGTH];
    one[bls::SCALAR_LENGTH - 1] = 1;
    one
};

/// Return the error of a failed precompile; `precompile` is its address in the fork.
pub(crate) fn words(
    precompile: &Address,
    input: &[u8],
    gas: u64,
    halt: &PrecompileHalt,
) -> Cow<'static, str> {
    use PrecompileHalt as Halt;
    let found = match halt {
        Halt::OutOfGas => Some(halt::OUT_OF_GAS),
        Halt::ModexpEip7823LimitSize => Some(large_modexp(input, gas)),
        Halt::Blake2WrongLength | Halt::BlobInvalidInputLength => Some(INPUT_LENGTH),
        Halt::Blake2WrongFinalIndicatorFlag => Some("invalid final flag"),
        Halt::Bn254PairLength => Some("bad elliptic curve pairing size"),
        Halt::BlobMismatchedVersion => Some("mismatched versioned hash"),
        Halt::BlobVerifyKzgProofFailed => {
            return format!("error verifying kzg proof: {}", kzg(input)).into();
        }
        Halt::Bn254FieldPointNotAMember | Halt::Bn254AffineGFailedToCreate => {
            bn254_fault(precompile, input)
        }
        Halt::Bls12381G1AddInputLength
        | Halt::Bls12381G1MsmInputLength
        | Halt::Bls12381G2AddInputLength
        | Halt::Bls12381G2MsmInputLength
        | Halt::Bls12381PairingInputLength
        | Halt::Bls12381MapFpToG1InputLength
        | Halt::Bls12381MapFp2ToG2InputLength => {
            let is_paid = bls_price(precompile, input.len()) <= gas;
            Some(if is_paid { INPUT_LENGTH } else { halt::OUT_OF_GAS })
        }
        _ => bls12_381_fault(precompile, input),
    };
    found.unwrap_or(halt::PRECOMPILE).into()
}

/// Return the error of a MODEXP above its size limits; go-ethereum checks the gas first.
fn large_modexp(input: &[u8], gas: u64) -> &'static str {
    const SIZES: &str = "one or more of base/exponent/modulus length exceeded 1024 bytes";
    let word = |start: usize, length: usize| {
        let end = input.len().min(start.saturating_add(length));
        let bytes = input.get(start..end).unwrap_or_default();
        U256::from_be_slice(&right_pad_vec(bytes, length))
    };
    let sizes = [0, 32, 64].map(|start| u64::try_from(word(start, 32)).ok());
    let [Some(base), Some(exponent), Some(modulus)] = sizes else { return halt::OUT_OF_GAS };
    let start = usize::try_from(base).unwrap_or(usize::MAX).saturating_add(3 * 32);
    let head = word(start, exponent.min(32) as usize);
    let price = modexp::osaka_gas_calc(base, exponent, modulus, &head);
    if price > gas { halt::OUT_OF_GAS } else { SIZES }
}

/// An element of BN254's quadratic extension field, a + bi.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fp2(U256, U256);

impl Fp2 {
    fn add(self, other: Self) -> Self {
        Self(self.0.add_mod(other.0, BN_MODULUS), self.1.add_mod(other.1, BN_MODULUS))
    }

    fn multiply(self, other: Self) -> Self {
        let product = |a: U256, b: U256| a.mul_mod(b, BN_MODULUS);
        let negative = BN_MODULUS - product(self.1, other.1);
        Self(
            product(self.0, other.0).add_mod(negative, BN_MODULUS),
            product(self.0, other.1).add_mod(product(self.1, other.0), BN_MODULUS),
        )
    }
}

/// Return the first fault in the input of BN254's addition, multiplication or pairing.
fn bn254_fault(precompile: &Address, input: &[u8]) -> Option<&'static str> {
    if *precompile == bn254::pair::ADDRESS {
        return input.chunks_exact(bn254::PAIR_ELEMENT_LEN).find_map(|pair| {
            let (first, second) = pair.split_at(BN_G1);
            bn254_g1(first).or_else(|| bn254_g2(second))
        });
    }
    let points: usize = if *precompile == bn254::add::ADDRESS { 2 } else { 1 };
    right_pad_vec(&input[..input.len().min(points * BN_G1)], points * BN_G1)
        .chunks_exact(BN_G1)
        .find_map(bn254_g1)
}

fn bn254_g1(point: &[u8]) -> Option<&'static str> {
    if has_large_field(point) {
        return Some(FIELD_ENCODING);
    }
    bn254::run_add(point, 0, u64::MAX).is_err().then_some(OFF_CURVE)
}

fn bn254_g2(point: &[u8]) -> Option<&'static str> {
    if has_large_field(point) {
        return Some(FIELD_ENCODING);
    }
    let pair = [&[0; BN_G1], point].concat();
    if bn254::run_pair(&pair, 0, 0, u64::MAX).is_ok() {
        return None;
    }
    let [x, y] = [0, BN_G1].map(|start| {
        let field = |start| U256::from_be_slice(&point[start..start + BN_FIELD]);
        Fp2(field(start + BN_FIELD), field(start))
    });
    let is_on_curve = y.multiply(y) == x.multiply(x).multiply(x).add(BN_TWIST);
    Some(if is_on_curve { "point is not in correct subgroup" } else { OFF_CURVE })
}

fn has_large_field(point: &[u8]) -> bool {
    point.chunks_exact(BN_FIELD).any(|field| U256::from_be_slice(field) >= BN_MODULUS)
}

/// Return the price of a BLS12-381 precompile for an input of this size; incomplete elements are
/// free.
fn bls_price(precompile: &Address, length: usize) -> u64 {
    let msm = |element, discounts, price| {
        bls12_381_utils::msm_required_gas(length / element, discounts, price)
    };
    match *precompile {
        bls::G1_MSM_ADDRESS => {
            msm(bls::G1_MSM_INPUT_LENGTH, &bls::DISCOUNT_TABLE_G1_MSM, bls::G1_MSM_BASE_GAS_FEE)
        }
        bls::G2_MSM_ADDRESS => {
            msm(bls::G2_MSM_INPUT_LENGTH, &bls::DISCOUNT_TABLE_G2_MSM, bls::G2_MSM_BASE_GAS_FEE)
        }
        bls::PAIRING_ADDRESS => {
            let pairs = (length / bls::PAIRING_INPUT_LENGTH) as u64;
            bls::PAIRING_OFFSET_BASE + pairs * bls::PAIRING_MULTIPLIER_BASE
        }
        _ => 0,
    }
}

/// Return the first fault in the input of a BLS12-381 precompile.
fn bls12_381_fault(precompile: &Address, input: &[u8]) -> Option<&'static str> {
    let first = |length, fault: fn(&[u8]) -> Option<&'static str>| {
        input.chunks_exact(length).find_map(fault)
    };
    match *precompile {
        bls::G1_ADD_ADDRESS => first(bls::PADDED_G1_LENGTH, bls_g1),
        bls::G2_ADD_ADDRESS => first(bls::PADDED_G2_LENGTH, bls_g2),
        bls::G1_MSM_ADDRESS => first(bls::G1_MSM_INPUT_LENGTH, |element| {
            let point = &element[..bls::PADDED_G1_LENGTH];
            bls_g1(point).or_else(|| bls_g1_subgroup(point))
        }),
        bls::G2_MSM_ADDRESS => first(bls::G2_MSM_INPUT_LENGTH, |element| {
            let point = &element[..bls::PADDED_G2_LENGTH];
            bls_g2(point).or_else(|| bls_g2_subgroup(point))
        }),
        bls::PAIRING_ADDRESS => first(bls::PAIRING_INPUT_LENGTH, |pair| {
            let (first, second) = pair.split_at(bls::PADDED_G1_LENGTH);
            bls_g1(first)
                .or_else(|| bls_g2(second))
                .or_else(|| bls_g1_subgroup(first))
                .or_else(|| bls_g2_subgroup(second))
        }),
        _ => bls_fields(input),
    }
}

fn bls_fields(fields: &[u8]) -> Option<&'static str> {
    fields.chunks_exact(bls::PADDED_FP_LENGTH).find_map(|field| {
        let (padding, field) = field.split_at(bls::FP_PAD_BY);
        if padding.iter().any(|byte| *byte != 0) {
            return Some("invalid field element top bytes");
        }
        (field >= &BLS_MODULUS[..]).then_some(FIELD_ENCODING)
    })
}

fn bls_g1(point: &[u8]) -> Option<&'static str> {
    bls_fields(point).or_else(|| {
        let sum = [point, &[0; bls::PADDED_G1_LENGTH]].concat();
        bls12_381::g1_add::g1_add(&sum, u64::MAX).is_err().then_some(BLS_OFF_CURVE)
    })
}

fn bls_g2(point: &[u8]) -> Option<&'static str> {
    bls_fields(point).or_else(|| {
        let sum = [point, &[0; bls::PADDED_G2_LENGTH]].concat();
        bls12_381::g2_add::g2_add(&sum, u64::MAX).is_err().then_some(BLS_OFF_CURVE)
    })
}

fn bls_g1_subgroup(point: &[u8]) -> Option<&'static str> {
    let product = [point, &ONE].concat();
    bls12_381::g1_msm::g1_msm(&product, u64::MAX)
        .is_err()
        .then_some("g1 point is not on correct subgroup")
}

fn bls_g2_subgroup(point: &[u8]) -> Option<&'static str> {
    let product = [point, &ONE].concat();
    bls12_381::g2_msm::g2_msm(&product, u64::MAX)
        .is_err()
        .then_some("g2 point is not on correct subgroup")
}

/// Return the reason why an EIP-4844 proof was not verified; the input has 192 bytes.
fn kzg(input: &[u8]) -> &'static str {
    let is_large = |scalar: &[u8]| U256::from_be_slice(scalar) >= BLS_ORDER;
    if is_large(&input[32..64]) || is_large(&input[64..96]) {
        return "scalar is not canonical when interpreted as a big integer in big-endian";
    }
    compressed(&input[96..144])
        .or_else(|| compressed(&input[144..]))
        .unwrap_or("can't verify opening proof")
}

/// Return the fault of a compressed point of BLS12-381's first group; the highest three bits are
/// flags.
fn compressed(point: &[u8]) -> Option<&'static str> {
    match point[0] >> 5 {
        0b111 | 0b011 | 0b001 => return Some("invalid point encoding"),
        0b000 | 0b010 => return Some("short buffer"),
        0b110 => {
            let is_zero = point[0] & 0x1f == 0 && point[1..].iter().all(|byte| *byte == 0);
            return (!is_zero).then_some("invalid infinity point encoding");
        }
        _ => {}
    }
    match PublicKey::uncompress(point) {
        Err(BLST_ERROR::BLST_BAD_ENCODING) => Some(FIELD_ENCODING),
        Err(_) => Some("invalid compressed coordinate: square root doesn't exist"),
        Ok(key) => key.validate().is_err().then_some("invalid point: subgroup check failed"),
    }
}
