//! What calls of the stateful precompiles do (etna.md 12.5). A function is named by
//! the first four bytes of the input.

use revm::{
    precompile::crypto,
    primitives::{Address, B256, U256, b256},
};

use super::{
    DEPLOYER_ALLOW_LIST, FEE_MANAGER, NATIVE_MINTER, REWARD_MANAGER, TRANSACTION_ALLOW_LIST, WARP,
    WarpPredicate, WarpRules,
    abi::Arguments,
    call::{Call, Failure},
    fees::{FIELDS, FeeConfig},
    role_slot,
};

type Output = Result<Vec<u8>, Failure>;

/// Gas of reading a slot, of writing one, of a log and each of its topics, and of a byte of a log.
const READ: u64 = 5_000;
const WRITE: u64 = 20_000;
const LOG: u64 = 375;
const LOG_BYTE: u64 = 8;
const MINT: u64 = 30_000;

const ROLE_SET: B256 = b256!("0xcdb7ea01f00a414d78757bdb0f6391664ba3fedf987eed280927c1e7d695be3e");
const MINTED: B256 = b256!("0x400cd392f3d56fd10bb1dbd5839fdda8298208ddaa97b368faa053e1850930ee");
const FEES_CHANGED: B256 =
    b256!("0x4c98e43adb5962c18f3f0e6dd066e2a2de258d3b4f695b317b77c8f27cd044fc");
const RECIPIENTS: B256 =
    b256!("0xabb1949bd129fef9b84601a48aee89d600d90074ca10216a02ce43996be55991");
const REWARDED: B256 = b256!("0xc2a9e07cba6f4920acaa5933bd0406949d5dbef7ee698e786ea23e8708f32a6c");
const DISABLED: B256 = b256!("0xeb121f0335efe8f4b8ebef7793c18c171834696989656a8c345acc558359fabf");
const SENT: B256 = b256!("0x56600c567728a800c0aa927500f831cb451df66a7af570eb4df4dfbf4674887d");

/// `lca`: the fee manager's slot with the number of the block that last changed the config.
const CHANGED_SLOT: B256 =
    b256!("0x6c63610000000000000000000000000000000000000000000000000000000000");
/// `rask`: the reward manager's slot.
const REWARD_SLOT: B256 =
    b256!("0x7261736b00000000000000000000000000000000000000000000000000000000");
/// `afrav`: its value if validators name the recipients of fees.
const RECIPIENTS_ALLOWED: B256 =
    b256!("0x6166726176000000000000000000000000000000000000000000000000000000");
/// Its value if nobody gets the fees.
const BLACKHOLE: B256 = b256!("0x0000000000000000000000000100000000000000000000000000000000000000");

/// The most bytes of a payload of a warp message, its codec's included.
const MAX_PAYLOAD: usize = 24 * 1024;

/// Execute a call; return its output.
pub(super) fn run(call: &mut Call<'_>, input: &[u8]) -> Output {
    let Some((selector, data)) = input.split_first_chunk::<4>() else {
        let length = input.len();
        return Err(Failure::Words(format!(
            "missing function selector to precompile - input length ({length})"
        )));
    };
    let selector = u32::from_be_bytes(*selector);
    let found = match call.address {
        WARP => warp(call, selector, data),
        DEPLOYER_ALLOW_LIST | TRANSACTION_ALLOW_LIST => allow_list(call, selector, data),
        NATIVE_MINTER if selector == 0x4f5aaaba => Some(mint(call, data)),
        FEE_MANAGER => {
            fee_manager(call, selector, data).or_else(|| allow_list(call, selector, data))
        }
        REWARD_MANAGER => {
            reward_manager(call, selector, data).or_else(|| allow_list(call, selector, data))
        }
        _ => allow_list(call, selector, data),
    };
    found.unwrap_or_else(|| {
        Err(Failure::Words(format!("invalid function selector: {selector:#010x}")))
    })
}

fn word(value: impl Into<U256>) -> [u8; 32] {
    value.into().to_be_bytes()
}

fn topic(account: Address) -> B256 {
    account.into_word()
}

// Allow lists.

const NONE: u8 = 0;
const ENABLED: u8 = 1;
const ADMIN: u8 = 2;
const MANAGER: u8 = 3;

fn allow_list(call: &mut Call<'_>, selector: u32, data: &[u8]) -> Option<Output> {
    Some(match selector {
        0xeb54dae1 => read_allow_list(call, data),
        0x704b6c02 => set_role(call, data, ADMIN),
        0x0aaf7043 => set_role(call, data, ENABLED),
        0xd0ebdbe7 => set_role(call, data, MANAGER),
        0x8c6bfb3b => set_role(call, data, NONE),
        _ => return None,
    })
}

fn read_allow_list(call: &mut Call<'_>, data: &[u8]) -> Output {
    call.charge(READ)?;
    let account = Arguments::new(data)?.address(0)?;
    Ok(word(call.role(account)?).into())
}

fn set_role(call: &mut Call<'_>, data: &[u8], role: u8) -> Output {
    call.charge(WRITE)?;
    let account = Arguments::new(data)?.address(0)?;
    call.verify_writable()?;
    let caller = call.caller;
    let (own, old) = (call.role(caller)?, call.role(account)?);
    if !can_modify(own, old, role) {
        return Err(Failure::Words(format!(
            "cannot modify allow list: modify address: {caller}, from role: {}, to role: {}",
            role_name(old),
            role_name(U256::from(role)),
        )));
    }
    call.charge(5 * LOG + 32 * LOG_BYTE)?;
    let topics = vec![ROLE_SET, word(U256::from(role)).into(), topic(account), topic(caller)];
    call.log(topics, word(old).into());
    call.write(role_slot(account), U256::from(role))?;
    Ok(Vec::new())
}

fn can_modify(own: U256, old: U256, new: u8) -> bool {
    if own == U256::from(MANAGER) {
        return old <= U256::from(ENABLED) && new <= ENABLED;
    }
    own == U256::from(ADMIN)
}

fn role_name(role: U256) -> &'static str {
    match u8::try_from(role) {
        Ok(NONE) => "NoRole",
        Ok(ENABLED) => "EnabledRole",
        Ok(ADMIN) => "AdminRole",
        Ok(MANAGER) => "ManagerRole",
        _ => "UnknownRole",
    }
}

// Native minter.

fn mint(call: &mut Call<'_>, data: &[u8]) -> Output {
    call.charge(MINT)?;
    call.verify_writable()?;
    let (account, wei) = Arguments::new(data)
        .and_then(|given| Ok((given.address(0)?, given.number(1)?)))
        .map_err(not_unpacked)?;
    call.verify_enabled("mint")?;
    call.charge(4 * LOG + 32 * LOG_BYTE)?;
    let topics = vec![MINTED, topic(call.caller), topic(account)];
    call.log(topics, word(wei).into());
    call.credit(account, wei)?;
    Ok(Vec::new())
}

fn not_unpacked(words: String) -> Failure {
    Failure::Words(format!("failed to unpack input: {words}"))
}

// Fee manager.

fn fee_manager(call: &mut Call<'_>, selector: u32, data: &[u8]) -> Option<Output> {
    Some(match selector {
        0x8f10b586 => set_fees(call, data),
        0x5fbbc0d2 => fees(call),
        0x9e05549a => fees_changed_at(call),
        _ => return None,
    })
}

fn stored_fees(call: &mut Call<'_>) -> Result<FeeConfig, Failure> {
    let mut fields = [U256::ZERO; FIELDS];
    for (field, value) in fields.iter_mut().enumerate() {
        *value = call.read(FeeConfig::slot(field))?;
    }
    Ok(FeeConfig::new(fields))
}

fn set_fees(call: &mut Call<'_>, data: &[u8]) -> Output {
    call.charge(WRITE * (FIELDS as u64 + 1))?;
    call.verify_writable()?;
    let read = |given: Arguments<'_>| {
        let mut fields = [U256::ZERO; FIELDS];
        for (field, value) in fields.iter_mut().enumerate() {
            *value = given.number(field)?;
        }
        Ok(FeeConfig::new(fields))
    };
    let new = Arguments::new(data).and_then(read).map_err(not_unpacked)?;
    call.verify_enabled("change fee config")?;
    call.charge((READ + 2 * 32 * LOG_BYTE) * FIELDS as u64 + 3 * LOG)?;
    let old = stored_fees(call)?;
    let words = old.0.iter().chain(&new.0).flat_map(|value| word(*value)).collect();
    call.log(vec![FEES_CHANGED, topic(call.caller)], words);
    new.verify().map_err(|words| format!("cannot verify fee config: {words}"))?;
    for (field, value) in new.0.into_iter().enumerate() {
        call.write(FeeConfig::slot(field), value)?;
    }
    let number = call.number();
    call.write(CHANGED_SLOT.into(), number)?;
    Ok(Vec::new())
}

fn fees(call: &mut Call<'_>) -> Output {
    call.charge(READ * FIELDS as u64)?;
    Ok(stored_fees(call)?.0.into_iter().flat_map(word).collect())
}

fn fees_changed_at(call: &mut Call<'_>) -> Output {
    call.charge(READ)?;
    Ok(word(call.read(CHANGED_SLOT.into())?).into())
}

// Reward manager.

fn reward_manager(call: &mut Call<'_>, selector: u32, data: &[u8]) -> Option<Output> {
    Some(match selector {
        0x0329099f => set_rewards(call, "call allowFeeRecipients", RECIPIENTS, RECIPIENTS_ALLOWED),
        0xbc178628 => set_rewards(call, "call disableRewards", DISABLED, BLACKHOLE),
        0x5e00e679 => set_reward_address(call, data),
        0xf6542b2e => are_recipients_allowed(call),
        0xe915608b => current_reward_address(call),
        _ => return None,
    })
}

fn set_rewards(call: &mut Call<'_>, what: &str, event: B256, value: B256) -> Output {
    call.charge(WRITE + READ)?;
    call.verify_writable()?;
    call.verify_enabled(what)?;
    call.charge(3 * LOG)?;
    call.log(vec![event, topic(call.caller)], Vec::new());
    call.write(REWARD_SLOT.into(), value.into())?;
    Ok(Vec::new())
}

fn set_reward_address(call: &mut Call<'_>, data: &[u8]) -> Output {
    call.charge(WRITE + READ)?;
    call.verify_writable()?;
    let account = Arguments::new(data)?.address(0)?;
    call.verify_enabled("call setRewardAddress")?;
    if account.is_zero() {
        return Err(Failure::Words("reward address cannot be empty".into()));
    }
    call.charge(READ + 5 * LOG)?;
    let old = reward_address(call)?;
    let topics = vec![REWARDED, topic(call.caller), topic(old), topic(account)];
    call.log(topics, Vec::new());
    call.write(REWARD_SLOT.into(), role_slot(account))?;
    Ok(Vec::new())
}

fn reward_address(call: &mut Call<'_>) -> Result<Address, Failure> {
    Ok(Address::from_word(call.read(REWARD_SLOT.into())?.into()))
}

fn are_recipients_allowed(call: &mut Call<'_>) -> Output {
    call.charge(READ)?;
    let is_allowed = B256::from(call.read(REWARD_SLOT.into())?) == RECIPIENTS_ALLOWED;
    Ok(word(U256::from(u8::from(is_allowed))).into())
}

fn current_reward_address(call: &mut Call<'_>) -> Output {
    call.charge(READ)?;
    Ok(topic(reward_address(call)?).to_vec())
}

// Warp.

fn warp(call: &mut Call<'_>, selector: u32, data: &[u8]) -> Option<Output> {
    let rules = call.stateful.warp.as_ref()?;
    Some(match selector {
        0x4213cf78 => blockchain_id(call, rules),
        0x6f825350 => verified(call, rules, data).and_then(|found| match found {
            None => Ok([64, 0, 0, 0, 96, 0]
                .into_iter()
                .flat_map(|number: u8| word(U256::from(number)))
                .collect()),
            Some(predicate) => readable(predicate.message.as_ref(), "addressed payload", "Hash"),
        }),
        0xce7f5929 => verified(call, rules, data).and_then(|found| match found {
            None => Ok(vec![0; 96]),
            Some(predicate) => {
                readable(predicate.block_hash.as_ref(), "block hash payload", "AddressedCall")
            }
        }),
        0xee5b48eb => send(call, rules, data),
        _ => return None,
    })
}

fn blockchain_id(call: &mut Call<'_>, rules: &WarpRules) -> Output {
    call.charge(rules.gas.blockchain_id)?;
    Ok(rules.blockchain_id.0.to_vec())
}

/// Return the message that the arguments name, if it is there and its signature is valid.
fn verified(
    call: &mut Call<'_>,
    rules: &WarpRules,
    data: &[u8],
) -> Result<Option<WarpPredicate>, Failure> {
    const INVALID: &str = "invalid index to specify warp message";
    call.charge(rules.gas.verified)?;
    let index = Arguments::new(data)
        .and_then(|given| given.uint32(0))
        .map_err(|words| format!("{INVALID}: {words}"))?;
    if index > i32::MAX as u32 {
        return Err(Failure::Words(format!("{INVALID}: larger than MaxInt32")));
    }
    let known = call.predicates.as_ref().and_then(|one| one.items.get(index as usize).cloned());
    let Some(predicate) = known.filter(|predicate| predicate.valid) else { return Ok(None) };
    call.charge(rules.gas.chunk.saturating_mul(predicate.chunks))?;
    Ok(Some(predicate))
}

fn readable(output: Option<&crate::convert::Blob>, kind: &str, wrong: &str) -> Output {
    output.map(|output| output.0.to_vec()).ok_or_else(|| {
        Failure::Words(format!("cannot unpack {kind}: wrong payload type: *payload.{wrong}"))
    })
}

fn send(call: &mut Call<'_>, rules: &WarpRules, data: &[u8]) -> Output {
    call.charge(rules.gas.send)?;
    call.charge(rules.gas.sent_byte * data.len() as u64)?;
    call.verify_writable()?;
    let payload = Arguments::new(data)
        .and_then(|given| given.dynamic(0))
        .map_err(|words| format!("invalid sendWarpMessage input: {words}"))?;
    let addressed = addressed_call(call.caller, payload);
    if addressed.len() > MAX_PAYLOAD {
        let size = addressed.len();
        return Err(Failure::Words(too_large(size)));
    }
    let mut raw = vec![0, 0];
    raw.extend(rules.network_id.to_be_bytes());
    raw.extend(rules.blockchain_id.0);
    append(&mut raw, &addressed);
    let message_id = B256::from(crypto().sha256(&raw));
    let mut logged = [word(U256::from(32)), word(U256::from(raw.len()))].concat();
    logged.extend(&raw);
    logged.resize(logged.len().next_multiple_of(32), 0);
    call.log(vec![SENT, topic(call.caller), message_id], logged);
    Ok(message_id.to_vec())
}

/// Return the bytes of an addressed call: codec version, type ID 1, address, payload.
fn addressed_call(caller: Address, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0, 0, 1];
    append(&mut bytes, caller.as_slice());
    append(&mut bytes, payload);
    bytes
}

fn append(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend((part.len() as u32).to_be_bytes());
    bytes.extend(part);
}

/// The words of the codec for a payload that is too large.
fn too_large(size: usize) -> String {
    format!("byte array exceeds maximum length: {size} > {MAX_PAYLOAD}")
}
