"""Verification of spending: the flow check, credentials, and subnet authorizations (pchain.md 5.2, 5.3).

Only `transfer` changes the state; it executes a transaction that has been verified.

Unspecified: locktimes are compared with chain time. The reference uses each node's own clock, so nodes
whose clocks differ could disagree about a block. With clocks that can be moved, they would disagree.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from platform_app.config import Env
from platform_app.executor.errors import MissingUtxo, TxStateReason
from platform_app.executor.fees import required_fee
from platform_app.state.chain import ChainState, Diff
from platform_app.txs.base import (
    Auth,
    AuthInput,
    LockIn,
    LockOut,
    SpendingTx,
    Tx,
    inner_input,
    inner_output,
)
from platform_app.txs.codec import CODEC
from platform_app.txs.errors import TxSyntaxReason
from primitives.hashing import sha256
from primitives.ids import ID
from utxo.components import (
    UTXO,
    Credential,
    OutputOwners,
    TransferableInput,
    TransferableOutput,
    utxos_of,
)
from utxo.errors import InvalidTx, RefusedCredential
from utxo.spending import AssetFlow, SignerRecovery, verify_credential, verify_sums, verify_transfer

_LockedKey = tuple[ID, int, OutputOwners]


class Spent(NamedTuple):
    """An input, the output that it spends, and the credential."""

    input: TransferableInput
    utxo: UTXO
    credential: Credential


class InputCredentials(NamedTuple):
    """The credentials of a transaction's inputs, and the signers of the signatures in them."""

    credentials: Sequence[Credential]
    signers: SignerRecovery


@contextmanager
def refused_as(reason: TxStateReason) -> Iterator[None]:
    """Prefix the reason of a rejection with the message of a kind of transaction."""
    try:
        yield
    except InvalidTx as cause:
        raise InvalidTx(reason, cause=cause) from cause


def verify_spend(
    tx: Tx,
    state: ChainState,
    env: Env,
    *,
    more_outputs: Sequence[TransferableOutput] = (),
    input_credentials: InputCredentials | None = None,
    burned: int = 0,
) -> None:
    """Check that a transaction's inputs exist, are signed, and cover its outputs and its fee.

    Args:
        tx: The transaction; its base inputs are spent.
        state: The state with the outputs that it spends.
        env: The network and the clock.
        more_outputs: Outputs that it produces besides its base outputs: stake or exported outputs.
        input_credentials: The result of `authorize`, if there is an authorization.
        burned: The amount of the staking asset that it burns besides the fee: balances of L1 validators.

    Raises:
        InvalidTx: The flow check failed; the reason says why; the sum of the amounts of one
            asset does not fit into 64 bits.
    """
    assert isinstance(tx.unsigned, SpendingTx)
    inputs = tx.unsigned.inputs
    credentials, signers = input_credentials or InputCredentials(
        tx.credentials, SignerRecovery(tx.digest)
    )
    _verify_counts(inputs, credentials)
    spent = map(Spent, inputs, _read(inputs, state), credentials)
    outputs = (*tx.unsigned.outputs, *more_outputs) if more_outputs else tx.unsigned.outputs
    produced = {env.asset_id: _fee(tx, state, env) + burned}
    verify_flow(signers, spent, outputs, produced, now=state.clock.timestamp())


def verify_import(
    tx: Tx,
    state: ChainState,
    env: Env,
    *,
    source_chain: ID,
    imported: Sequence[TransferableInput],
) -> None:
    """Check a transaction as `verify_spend` does, including inputs exported by another chain.

    A block that the network has accepted may import outputs whose export is not executed here yet. Then only the number
    of credentials is checked, as in the reference while it bootstraps, because the spent outputs are not known.

    Raises:
        MissingUtxo: The other chain has not exported the output, or it is already imported.
        InvalidTx: As for `verify_spend`.
    """
    assert isinstance(tx.unsigned, SpendingTx)
    inputs = (*tx.unsigned.inputs, *imported)
    _verify_counts(inputs, tx.credentials)
    try:
        shared = _read_shared(imported, source_chain, state)
    except MissingUtxo:
        if env.decided:
            return
        raise
    spent = map(Spent, inputs, (*_read(tx.unsigned.inputs, state), *shared), tx.credentials)
    produced = {env.asset_id: _fee(tx, state, env)}
    signers, now = SignerRecovery(tx.digest), state.clock.timestamp()
    verify_flow(signers, spent, tx.unsigned.outputs, produced, now=now)


def authorize(tx: Tx, state: ChainState, *, subnet_id: ID, auth: Auth) -> InputCredentials:
    """Check that the last credential is a subnet owner's authorization of a transaction.

    Returns:
        The other credentials, for `verify_spend`.

    Raises:
        InvalidTx: There is no credential; there is no such subnet; the credential is not the
            owner's.
    """
    if not tx.credentials:
        raise InvalidTx(TxSyntaxReason.CREDENTIALS_DIFFER_FROM_INPUTS)
    owner = state.subnets.owner(subnet_id)
    if owner is None:
        raise InvalidTx(TxStateReason.SUBNET_NOT_FOUND)
    return authorize_owner(tx, state, owner=owner, auth=auth)


def authorize_owner(
    tx: Tx, state: ChainState, *, owner: OutputOwners, auth: Auth
) -> InputCredentials:
    """Check that the last credential is the authorization of a transaction by an owner.

    Returns:
        The other credentials, for `verify_spend`.

    Raises:
        InvalidTx: There is no credential; the credential is not the owner's.
    """
    assert isinstance(auth, AuthInput)
    if not tx.credentials:
        raise InvalidTx(TxSyntaxReason.CREDENTIALS_DIFFER_FROM_INPUTS)
    *others, authorizing = tx.credentials
    signers = SignerRecovery(tx.digest)
    try:
        verify_credential(
            signers, auth.signature_indices, authorizing, owner, state.clock.timestamp()
        )
    except RefusedCredential as reason:
        raise InvalidTx(TxStateReason.UNAUTHORIZED_MODIFICATION, cause=reason) from reason
    return InputCredentials(others, signers)


def transfer(tx: Tx, diff: Diff) -> None:
    """Spend a transaction's base inputs and produce its base outputs."""
    assert isinstance(tx.unsigned, SpendingTx)
    for spent in tx.unsigned.inputs:
        diff.utxos.consume(spent.utxo_id)
    for utxo in utxos_of(tx.tx_id, 0, tx.unsigned.outputs):
        diff.utxos.produce(utxo)


def verify_flow(
    signers: SignerRecovery,
    spent: Iterable[Spent],
    outputs: Iterable[TransferableOutput],
    produced: Mapping[ID, int],
    *,
    now: int,
) -> None:
    """Check inputs against the outputs they spend, then consumed amounts against produced ones.

    Locked coins may be locked again for the same owner until the same time, and unlocked coins may be
    locked; nothing else is allowed. The remainder is burned. Raises as `verify_spend`.
    """
    flow = AssetFlow(produced)
    locked: dict[_LockedKey, int] = defaultdict(int)
    for spent_input in spent:
        utxo = spent_input.utxo
        amount = _verify_input(signers, spent_input, now)
        if isinstance(utxo.output, LockOut) and now < utxo.output.locktime:
            owners = inner_output(utxo.output).owners
            locked[utxo.asset_id, utxo.output.locktime, owners] += amount
        else:
            flow.consume(utxo.asset_id, amount)
    to_lock: dict[_LockedKey, int] = defaultdict(int)
    for output in outputs:
        inner = inner_output(output.output)
        # An output's locktime is not compared with the clock: an output with an expired
        # lock still counts as locked.
        if isinstance(output.output, LockOut):
            to_lock[output.asset_id, output.output.locktime, inner.owners] += inner.amount
        else:
            flow.produce(output.asset_id, inner.amount)
    flow.verify_sums()
    verify_sums((*locked.values(), *to_lock.values()))
    _lock_unlocked(to_lock, locked, flow.consumed)
    for asset_id, missing in flow.shortages():
        raise InvalidTx(
            TxStateReason.INSUFFICIENT_UNLOCKED_FUNDS, missing=missing, asset_id=asset_id
        )


def _fee(tx: Tx, state: ChainState, env: Env) -> int:
    return required_fee(tx.unsigned, env.config, state.clock.fee_state())


def _read(inputs: Iterable[TransferableInput], state: ChainState) -> list[UTXO]:
    utxos = []
    for spent in inputs:
        utxo = state.utxos.get(spent.utxo_id)
        if utxo is None:
            raise MissingUtxo(
                TxStateReason.UTXO_MISSING, tx_id=spent.tx_id, output_index=spent.output_index
            )
        utxos.append(utxo)
    return utxos


def _read_shared(
    inputs: Iterable[TransferableInput], source_chain: ID, state: ChainState
) -> list[UTXO]:
    utxos = []
    for spent in inputs:
        utxo = state.utxos.shared(source_chain, spent.utxo_id)
        if utxo is None:
            raise MissingUtxo(TxStateReason.SHARED_UTXO_MISSING)
        utxos.append(utxo)
    return utxos


def _verify_counts(inputs: Sequence[TransferableInput], credentials: Sequence[Credential]) -> None:
    if len(inputs) != len(credentials):
        raise InvalidTx(
            TxStateReason.WRONG_NUMBER_OF_CREDENTIALS,
            inputs=len(inputs),
            credentials=len(credentials),
        )


def _lock_unlocked(
    to_lock: Mapping[_LockedKey, int],
    locked: Mapping[_LockedKey, int],
    unlocked: dict[ID, int],
) -> None:
    """Subtract from unlocked coins the amounts locked beyond those locked before."""
    for key, amount in to_lock.items():
        asset_id, locktime, owners = key
        increase = amount - locked.get(key, 0)
        if increase <= 0:
            continue
        if increase > unlocked[asset_id]:
            owner_id = ID(sha256(CODEC.marshal(owners)))
            missing = increase - unlocked[asset_id]
            raise InvalidTx(
                TxStateReason.INSUFFICIENT_LOCKED_FUNDS,
                owner_id=owner_id,
                missing=missing,
                asset_id=asset_id,
                locktime=locktime,
            )
        unlocked[asset_id] -= increase


def _verify_input(signers: SignerRecovery, spent: Spent, now: int) -> int:
    """Check one input; return the amount that it consumes."""
    if spent.input.asset_id != spent.utxo.asset_id:
        raise InvalidTx(
            TxStateReason.ASSET_MISMATCH, of_input=spent.input.asset_id, of_utxo=spent.utxo.asset_id
        )
    _verify_lock(spent.input, spent.utxo, now)
    output, tx_input = inner_output(spent.utxo.output), inner_input(spent.input.input)
    try:
        verify_transfer(signers, tx_input, spent.credential, output, now)
    except RefusedCredential as reason:
        raise InvalidTx(TxStateReason.TRANSFER_NOT_VERIFIED, cause=reason) from reason
    return output.amount


def _verify_lock(spent: TransferableInput, utxo: UTXO, now: int) -> None:
    locktime = utxo.output.locktime if isinstance(utxo.output, LockOut) else 0
    # A locked input must have the right locktime even if that has passed.
    if isinstance(spent.input, LockIn):
        if spent.input.locktime != locktime:
            raise InvalidTx(
                TxStateReason.LOCKTIME_MISMATCH, of_input=spent.input.locktime, of_utxo=locktime
            )
    elif now < locktime:
        raise InvalidTx(TxStateReason.LOCKED_FUNDS_NOT_MARKED)
