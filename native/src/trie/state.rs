//! The whole state trie: the account trie and the storage tries that its leaves refer to.

use std::collections::BTreeMap;

use alloy_rlp::{Decodable, Encodable, Header};
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles, TrieAccount};
use revm::primitives::{Address, B256, Bytes, U256, hex, keccak256};

use super::{
    Source, TrieFault,
    editor::{Nodes, Trie},
};
use crate::coreth;

/// Nonce, balance and code hash of an account after a block; None if it was deleted.
pub(crate) type AccountAfter = Option<(u64, U256, B256)>;

/// How accounts and slots are stored.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Layout {
    /// Four fields.
    Ethereum,
    /// A fifth field says whether the account ever held another asset; a slot's key has lost a bit.
    /// Among the changes of slots, the field is one of them.
    Coreth,
}

/// The fifth field of an account of coreth, as RLP: whether it ever held another asset.
const NO_OTHER_ASSET: u8 = 0x80;
const OTHER_ASSET: u8 = 1;

/// A leaf of the account trie.
#[derive(Clone, Copy)]
struct Leaf {
    account: TrieAccount,
    /// Whether the account of coreth ever held another asset.
    is_multi_coin: bool,
}

/// The changes of a block, as far as the trie needs them.
pub(crate) struct StateDifference {
    pub(crate) accounts: Vec<(Address, AccountAfter)>,
    /// Address, slot, value after.
    pub(crate) storage: Vec<(Address, B256, U256)>,
    /// Accounts whose whole storage is deleted first.
    pub(crate) cleared: Vec<Address>,
}

/// A state root and the changes of the stored nodes.
pub(crate) struct Update {
    pub(crate) root: B256,
    pub(crate) nodes: Nodes,
}

/// An account and some of its slots, with the nodes that prove them, from the root down.
pub(crate) struct Proof {
    pub(crate) account: AccountAfter,
    pub(crate) storage_root: B256,
    pub(crate) account_proof: Vec<Bytes>,
    pub(crate) storage: Vec<(U256, Vec<Bytes>)>,
}

/// Position of the account trie among the tries; storage tries follow it.
const ACCOUNTS: usize = 0;

/// An account that a block changes.
struct AccountUpdate {
    address: Address,
    path: Nibbles,
    /// None if only its storage changes.
    after: Option<AccountAfter>,
    /// Whether its previous storage is deleted first.
    gone: bool,
    slots: Vec<(Nibbles, U256)>,
    /// On coreth: the account's fifth field if it changes, and whether one of these slots is the
    /// balance of another asset.
    field: Option<bool>,
    has_asset: bool,
    /// Position of its storage trie; None if the storage does not change.
    trie: Option<usize>,
}

/// Paths to load, by position of the trie.
type PathsToLoad = Vec<(usize, Vec<Nibbles>)>;

fn account_trie(root: B256) -> Trie {
    Trie::new(b"a".to_vec(), Some(root))
}

fn storage_trie(address_hash: B256) -> Trie {
    Trie::new([b"s", address_hash.as_slice()].concat(), None)
}

fn path(hash: B256) -> Nibbles {
    Nibbles::unpack_array(&hash.0)
}

/// Return the root and the nodes after a change of the source's state.
pub(crate) fn update(
    difference: StateDifference,
    source: &Source<'_>,
    layout: Layout,
) -> Result<Update, TrieFault> {
    source.cache.turn_to(source.root);
    let update = make_update(difference, source, layout).inspect_err(|_| source.cache.forget())?;
    source.cache.expect(source.root, update.root, update.nodes.clone());
    Ok(update)
}

fn make_update(
    difference: StateDifference,
    source: &Source<'_>,
    layout: Layout,
) -> Result<Update, TrieFault> {
    let mut tries = vec![account_trie(source.root)];
    let touched = gather(difference, &mut tries, layout);
    let mut wanted: PathsToLoad = vec![(ACCOUNTS, touched.iter().map(|one| one.path).collect())];
    for one in &touched {
        if let Some(trie) = one.trie {
            wanted.push((trie, one.slots.iter().map(|(slot, _)| *slot).collect()));
        }
    }
    load(&mut tries, &wanted, source)?;
    let leaves = clear(&touched, &mut tries, source)?;
    for one in &touched {
        if let Some(trie) = one.trie {
            change_storage(&mut tries[trie], &one.slots)?;
        }
    }
    load_lonely(&mut tries[1..], source)?;
    let mut nodes = Nodes::new();
    for (one, leaf) in touched.iter().zip(leaves) {
        let storage_root = match one.trie {
            Some(trie) => {
                tries[trie].tidy();
                tries[trie].finish(&mut nodes)
            }
            None => leaf.map_or(EMPTY_ROOT_HASH, |leaf| leaf.account.storage_root),
        };
        change_account(&mut tries[ACCOUNTS], one, leaf, storage_root, layout)?;
    }
    load_lonely(&mut tries[..1], source)?;
    tries[ACCOUNTS].tidy();
    let root = tries[ACCOUNTS].finish(&mut nodes);
    nodes.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    Ok(Update { root, nodes })
}

/// Group the changes by account, and create the storage tries that they need.
fn gather(
    difference: StateDifference,
    tries: &mut Vec<Trie>,
    layout: Layout,
) -> Vec<AccountUpdate> {
    let mut touched = BTreeMap::<Address, AccountUpdate>::new();
    let new = |address: Address| AccountUpdate {
        address,
        path: path(keccak256(address)),
        after: None,
        gone: false,
        slots: Vec::new(),
        field: None,
        has_asset: false,
        trie: None,
    };
    for (address, after) in difference.accounts {
        let one = touched.entry(address).or_insert_with(|| new(address));
        one.gone = after.is_none();
        one.after = Some(after);
    }
    for address in difference.cleared {
        touched.entry(address).or_insert_with(|| new(address)).gone = true;
    }
    for (address, slot, after) in difference.storage {
        let one = touched.entry(address).or_insert_with(|| new(address));
        if layout == Layout::Coreth && U256::from_be_bytes(slot.0) == coreth::MULTI_COIN_SLOT {
            one.field = Some(!after.is_zero());
        } else if one.after != Some(None) {
            one.slots.push((path(keccak256(slot)), after));
            one.has_asset |= coreth::is_of_asset(slot);
        }
    }
    for one in touched.values_mut() {
        if one.gone || !one.slots.is_empty() {
            one.trie = Some(tries.len());
            tries.push(storage_trie(keccak256(one.address)));
        }
    }
    touched.into_values().collect()
}

/// Empty the deleted storage tries, check the roots of the others, and return the accounts' leaves.
fn clear(
    touched: &[AccountUpdate],
    tries: &mut [Trie],
    source: &Source<'_>,
) -> Result<Vec<Option<Leaf>>, TrieFault> {
    let mut leaves = Vec::with_capacity(touched.len());
    let mut gone = Vec::new();
    for one in touched {
        let leaf = read_leaf(&tries[ACCOUNTS], &one.path)?;
        let root = leaf.map_or(EMPTY_ROOT_HASH, |leaf| leaf.account.storage_root);
        leaves.push(leaf);
        if let Some(trie) = one.trie {
            tries[trie].check_root(root)?;
            if one.gone && root != EMPTY_ROOT_HASH {
                gone.push(trie);
            }
        }
    }
    while ask(tries, source, |tries| {
        gone.iter().map(|&trie| (trie, tries[trie].unloaded().into_iter().collect())).collect()
    })? {}
    for trie in gone {
        tries[trie].clear();
    }
    Ok(leaves)
}

fn change_storage(trie: &mut Trie, slots: &[(Nibbles, U256)]) -> Result<(), TrieFault> {
    for (slot, value) in slots {
        if value.is_zero() {
            trie.delete(slot)?;
        } else {
            trie.put(slot, alloy_rlp::encode(value).into())?;
        }
    }
    Ok(())
}

fn change_account(
    accounts: &mut Trie,
    one: &AccountUpdate,
    leaf: Option<Leaf>,
    storage_root: B256,
    layout: Layout,
) -> Result<(), TrieFault> {
    let (nonce, balance, code_hash) = match (one.after, leaf) {
        (Some(None), _) => return accounts.delete(&one.path),
        (Some(Some(after)), _) => after,
        (None, Some(Leaf { account, .. })) => (account.nonce, account.balance, account.code_hash),
        (None, None) => {
            let address = hex::encode_prefixed(one.address);
            let words = format!("storage of an account that is not there: {address}");
            return Err(TrieFault::NoAccount(words));
        }
    };
    let account = TrieAccount { nonce, balance, storage_root, code_hash };
    let mut value = Vec::with_capacity(account.length());
    match layout {
        Layout::Ethereum => account.encode(&mut value),
        Layout::Coreth => {
            let was_multi_coin = !one.gone && leaf.is_some_and(|leaf| leaf.is_multi_coin);
            let is_multi_coin = one.field.unwrap_or(one.has_asset || was_multi_coin);
            encode_with_fifth(&account, is_multi_coin, &mut value);
        }
    }
    accounts.put(&one.path, value.into())
}

fn encode_with_fifth(account: &TrieAccount, is_multi_coin: bool, value: &mut Vec<u8>) {
    let mut fields = Vec::with_capacity(account.length() + 1);
    account.nonce.encode(&mut fields);
    account.balance.encode(&mut fields);
    account.storage_root.encode(&mut fields);
    account.code_hash.encode(&mut fields);
    fields.push(if is_multi_coin { OTHER_ASSET } else { NO_OTHER_ASSET });
    Header { list: true, payload_length: fields.len() }.encode(value);
    value.extend_from_slice(&fields);
}

/// Read an account of either layout.
fn decode(mut value: &[u8]) -> alloy_rlp::Result<Leaf> {
    let mut fields = Header::decode_bytes(&mut value, true)?;
    let account = TrieAccount {
        nonce: Decodable::decode(&mut fields)?,
        balance: Decodable::decode(&mut fields)?,
        storage_root: Decodable::decode(&mut fields)?,
        code_hash: Decodable::decode(&mut fields)?,
    };
    Ok(Leaf { account, is_multi_coin: fields == [OTHER_ASSET] })
}

fn read_leaf(accounts: &Trie, path: &Nibbles) -> Result<Option<Leaf>, TrieFault> {
    let Some(value) = accounts.get(path)? else { return Ok(None) };
    decode(value.as_ref())
        .map(Some)
        .map_err(|error| TrieFault::Foreign(format!("account leaf is not an account: {error}")))
}

/// Return an account and some of its slots with their proofs.
pub(crate) fn prove(
    address: Address,
    slots: &[B256],
    source: &Source<'_>,
    layout: Layout,
) -> Result<Proof, TrieFault> {
    make_proof(address, slots, source, layout).inspect_err(|_| source.cache.forget())
}

fn make_proof(
    address: Address,
    slots: &[B256],
    source: &Source<'_>,
    layout: Layout,
) -> Result<Proof, TrieFault> {
    let address_hash = keccak256(address);
    let account_path = path(address_hash);
    let slot_paths: Vec<_> = slots.iter().map(|slot| path(keccak256(slot))).collect();
    let value_paths: Vec<_> = match layout {
        Layout::Ethereum => slot_paths.clone(),
        Layout::Coreth => {
            let stored = |slot: &B256| B256::from(coreth::stored(U256::from_be_bytes(slot.0)));
            slots.iter().map(|slot| path(keccak256(stored(slot)))).collect()
        }
    };
    let mut tries = vec![account_trie(source.root), storage_trie(address_hash)];
    let mut both = slot_paths.clone();
    both.extend_from_slice(&value_paths);
    let wanted = vec![(ACCOUNTS, vec![account_path]), (1, both)];
    load(&mut tries, &wanted, source)?;
    let leaf = read_leaf(&tries[ACCOUNTS], &account_path)?.map(|leaf| leaf.account);
    let storage_root = leaf.map_or(EMPTY_ROOT_HASH, |leaf| leaf.storage_root);
    if !slots.is_empty() {
        tries[1].check_root(storage_root)?;
    }
    let mut storage = Vec::with_capacity(slots.len());
    for (slot, value) in slot_paths.iter().zip(&value_paths) {
        storage.push((read_slot(&tries[1], value)?, tries[1].proof(slot)));
    }
    Ok(Proof {
        account: leaf.map(|leaf| (leaf.nonce, leaf.balance, leaf.code_hash)),
        storage_root,
        account_proof: tries[ACCOUNTS].proof(&account_path),
        storage,
    })
}

fn read_slot(trie: &Trie, path: &Nibbles) -> Result<U256, TrieFault> {
    let Some(value) = trie.get(path)? else { return Ok(U256::ZERO) };
    U256::decode(&mut value.as_ref())
        .map_err(|error| TrieFault::Foreign(format!("storage leaf is not a number: {error}")))
}

/// Load all nodes on paths in several tries, with one query to the source for each depth.
fn load(tries: &mut [Trie], paths: &PathsToLoad, source: &Source<'_>) -> Result<(), TrieFault> {
    while ask(tries, source, |tries| {
        let next = |(trie, paths): &(usize, Vec<Nibbles>)| {
            let trie: usize = *trie;
            (trie, paths.iter().filter_map(|path| tries[trie].first_unloaded(path)).collect())
        };
        paths.iter().map(next).collect()
    })? {}
    Ok(())
}

/// Load the nodes that will move up when the tries are tidied, with one query to the source.
fn load_lonely(tries: &mut [Trie], source: &Source<'_>) -> Result<(), TrieFault> {
    ask(tries, source, |tries| {
        let alone = |(at, trie): (usize, &Trie)| (at, trie.lonely().into_iter().collect());
        tries.iter().enumerate().map(alone).collect()
    })?;
    Ok(())
}

/// Query the source for the wanted nodes and insert them; return false if there are none.
fn ask(
    tries: &mut [Trie],
    source: &Source<'_>,
    wanted: impl FnOnce(&[Trie]) -> PathsToLoad,
) -> Result<bool, TrieFault> {
    let mut places: Vec<(usize, Nibbles)> = wanted(tries)
        .into_iter()
        .flat_map(|(trie, paths)| paths.into_iter().map(move |path| (trie, path)))
        .collect();
    if places.is_empty() {
        return Ok(false);
    }
    places.sort_unstable();
    places.dedup();
    let keys: Vec<_> = places.iter().map(|(trie, path)| tries[*trie].key(path)).collect();
    for ((trie, path), data) in places.into_iter().zip(source.nodes(&keys)?) {
        tries[trie].supply(path, data)?;
    }
    Ok(true)
}
