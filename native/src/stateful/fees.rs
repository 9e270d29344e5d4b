//! The fee config of the fee manager: eight numbers in its slots.

use revm::primitives::U256;

/// Number of fields.
pub(super) const FIELDS: usize = 8;

const TARGET_BLOCK_RATE: usize = 1;
const MIN_BLOCK_GAS_COST: usize = 5;
const MAX_BLOCK_GAS_COST: usize = 6;

/// The fields that must not be zero, by place, in the order in which subnet-evm checks them.
const POSITIVE: [(usize, &str); 4] = [
    (0, "gasLimit"),
    (TARGET_BLOCK_RATE, "targetBlockRate"),
    (3, "targetGas"),
    (4, "baseFeeChangeDenominator"),
];

/// The numbers in the order of slots and arguments.
pub(super) struct FeeConfig(pub(super) [U256; FIELDS]);

impl FeeConfig {
    /// Return a config with the lowest 64 bits of its rate, which are all that subnet-evm keeps.
    pub(super) fn new(mut fields: [U256; FIELDS]) -> Self {
        fields[TARGET_BLOCK_RATE] = U256::from(fields[TARGET_BLOCK_RATE].as_limbs()[0]);
        Self(fields)
    }

    /// Return the slot of a field.
    pub(super) fn slot(field: usize) -> U256 {
        let mut slot = [0; 32];
        slot[0] = field as u8 + 1;
        U256::from_be_bytes(slot)
    }

    /// Check the numbers; return subnet-evm's words for the first that is out of its range.
    pub(super) fn verify(&self) -> Result<(), String> {
        for (place, name) in POSITIVE {
            if self.0[place].is_zero() {
                return Err(format!("{name} cannot be less than or equal to 0: {name} = 0"));
            }
        }
        let (least, most) = (self.0[MIN_BLOCK_GAS_COST], self.0[MAX_BLOCK_GAS_COST]);
        if least > most {
            return Err(format!(
                "minBlockGasCost cannot be greater than maxBlockGasCost: minBlockGasCost = {least}, \
                 maxBlockGasCost = {most}"
            ));
        }
        if most > U256::from(u64::MAX) {
            return Err(format!("maxBlockGasCost is not a valid uint64: maxBlockGasCost = {most}"));
        }
        Ok(())
    }
}
