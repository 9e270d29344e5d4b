"""Random histories of the P-Chain: transactions of all types that spend outputs of a state.

Most of them are accepted, some are not. The same seed gives the same history.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from platform_app.config import DAY, UNIT, Env
from platform_app.state.stakers import Priority, Staker
from platform_app.txs import staking, subnets
from platform_app.txs.base import (
    AuthInput,
    BaseTx,
    LockOut,
    StakingPeriod,
    SubnetValidator,
    Tx,
    UnsignedTx,
    inner_output,
)
from platform_app.txs.codec import CODEC
from primitives.hashing import sha256
from primitives.ids import PRIMARY_NETWORK_ID, NodeID
from tests.builders import platform
from tests.builders.platform_state import ENV, MemoryState
from utxo.components import UTXO, OutputOwners, TransferableOutput
from utxo.well_formed import sort_outputs

KEY_OF = dict(zip(platform.ADDRESSES, platform.KEYS, strict=True))
FEE = UNIT // 4
"""More than any fee; the excess is burned."""


def funded() -> MemoryState:
    """Return a state whose coins belong to known keys: plain, shared, locked, and on other chains."""
    made = MemoryState()
    for number in range(40):
        made.fund(platform.utxo(20_000 * UNIT, platform.ADDRESSES[number % 5], number=number))
    for number in range(40, 50):
        made.fund(
            platform.utxo(5_000 * UNIT, stakeable_until=platform.NOW + 30 * DAY, number=number)
        )
    for number in range(50, 60):
        both = platform.ADDRESSES[:2]
        made.fund(platform.utxo(3_000 * UNIT, *both, threshold=2, number=number))
    imports = [platform.utxo(100 * UNIT, number=number) for number in range(60, 80)]
    made.share(platform.X_CHAIN_ID, *imports)
    return made


class History:
    """A generator of transactions on a state and of times of the node's clock."""

    def __init__(self, seed: int, state: MemoryState) -> None:
        self.random = Random(seed)
        self.state = state
        self.now = state.clock.time
        self._kinds: list[Callable[[], Tx]] = [
            *[self._transfer] * 4,
            *[self._add_permissionless_delegator] * 2,
            *[self._add_delegator] * 2,
            self._add_validator,
            self._add_permissionless_validator,
            self._create_subnet,
            self._create_chain,
            self._add_subnet_validator,
            self._remove_subnet_validator,
            self._transfer_ownership,
            self._import,
            self._export,
        ]

    def env(self) -> Env:
        """Return the environment at the current time of the history."""
        return Env(ENV.config, ENV.asset_id, self.now, ENV.x_chain_id, ENV.c_chain_id)

    def pass_time(self) -> None:
        """Move the clock: not at all, a little, or more than a day."""
        self.now += self.random.choice((0, 1, 60, 3_600, 20_000, DAY + 1))

    def txs(self, count: int) -> list[Tx]:
        """Return `count` transactions, some of which may spend the same output."""
        return [self.random.choice(self._kinds)() for _ in range(count)]

    def _sign(self, kind: type[UnsignedTx], spent: list[UTXO], **fields: Any) -> Tx:
        """Sign a transaction that spends these outputs; the key in `authority` signs last."""
        authority: OutputOwners | None = fields.pop("authority", None)
        ordered = sorted(spent, key=lambda one: (one.tx_id, one.output_index))
        keys = [_keys_of(inner_output(item.output).owners) for item in ordered]
        keys += [_keys_of(owner) for owner in fields.pop("more_owners", ())]
        if authority:
            fields["subnet_authorization"] = AuthInput(tuple(range(authority.threshold)))
            keys.append(_keys_of(authority))
        return platform.signed(kind, inputs=platform.spend_all(*ordered), keys=keys, **fields)

    def _choose(self, amount: int) -> tuple[list[UTXO], tuple[TransferableOutput, ...]]:
        """Return unlocked outputs worth an amount and a fee, and the change."""
        spent: list[UTXO] = []
        open_ones = [utxo for utxo in self.state.utxos.values() if self._is_open(utxo)]
        self.random.shuffle(open_ones)
        while open_ones and _sum(spent) < amount + FEE:
            spent.append(open_ones.pop())
        rest = _sum(spent) - amount - self.random.choice((FEE, FEE, FEE, 0))
        if rest <= 0:
            return spent, ()
        return spent, (platform.output(rest, self.random.choice(platform.ADDRESSES)),)

    def _is_open(self, utxo: UTXO) -> bool:
        return not isinstance(utxo.output, LockOut) or utxo.output.locktime <= self.now

    def _stake(
        self, amount: int
    ) -> tuple[list[UTXO], tuple[TransferableOutput, ...], tuple[TransferableOutput, ...]]:
        """Return the spent outputs, change and stake; sometimes the stake uses locked coins."""
        locked = [utxo for utxo in self.state.utxos.values() if not self._is_open(utxo)]
        if not locked or self.random.random() < 0.7:
            spent, change = self._choose(amount)
            return spent, change, platform.outputs(amount)
        one = self.random.choice(locked)
        lock: Any = one.output
        from_lock = min(amount, lock.output.amount)
        spent, change = self._choose(amount - from_lock)
        stake = [_locked(one, from_lock)]
        if from_lock < amount:
            stake.append(platform.output(amount - from_lock))
        if from_lock < lock.output.amount:
            change = (*change, _locked(one, lock.output.amount - from_lock))
        return [*spent, one], _sorted(change), _sorted(stake)

    def _period(self, validator: Staker | None = None) -> tuple[int, int]:
        start = self.state.clock.time + self.random.choice((60, 5_000, 40_000))
        if validator:
            start = max(start, validator.start)
        end = start + self.random.randint(DAY, 4 * DAY)
        return start, min(end, validator.end) if validator else end

    def _transfer(self) -> Tx:
        amount = self.random.randint(1, 2_000 * UNIT)
        spent, change = self._choose(amount)
        lock = self.random.choice((None, None, self.now + 3 * DAY))
        made = platform.output(amount, *platform.ADDRESSES[:2], threshold=2, stakeable_until=lock)
        return self._sign(BaseTx, spent, outputs=_sorted((*change, made)))

    def _node(self) -> NodeID:
        return NodeID(sha256(self.random.randbytes(8))[:20])

    def _new_validator(self, kind: type[UnsignedTx], start: int, end: int, **fields: Any) -> Tx:
        amount = self.random.randint(2_000 * UNIT, 9_000 * UNIT)
        spent, change, stake = self._stake(amount)
        return self._sign(
            kind,
            spent,
            outputs=change,
            stake=stake,
            validator=StakingPeriod(self._node(), start, end, amount),
            shares=self.random.choice((20_000, 333_333, 1_000_000)),
            **fields,
        )

    def _add_validator(self) -> Tx:
        start, end = self._period()
        return self._new_validator(staking.AddValidatorTx, self._at_once_or(start), end)

    def _add_permissionless_validator(self) -> Tx:
        signer = platform.proof_of_possession(self.random.randint(1, 3))
        start, end = self._period()
        kind = staking.AddPermissionlessValidatorTx
        return self._new_validator(kind, self._at_once_or(start), end, signer=signer)

    def _at_once_or(self, start: int) -> int:
        return self.random.choice((0, start))

    def _delegation(self, kind: type[UnsignedTx]) -> Tx:
        validators = self._validators()
        if not validators:
            return self._add_validator()
        validator = self.random.choice(validators)
        start, end = self._period(validator)
        amount = self.random.randint(25 * UNIT, 4_000 * UNIT)
        spent, change, stake = self._stake(amount)
        period = StakingPeriod(validator.node_id, self._at_once_or(start), end, amount)
        return self._sign(kind, spent, outputs=change, stake=stake, validator=period)

    def _add_delegator(self) -> Tx:
        return self._delegation(staking.AddDelegatorTx)

    def _add_permissionless_delegator(self) -> Tx:
        return self._delegation(staking.AddPermissionlessDelegatorTx)

    def _validators(self) -> list[Staker]:
        held = self.state.stakers.values()
        return [item for item in held if not item.priority.is_delegator and _is_primary(item)]

    def _create_subnet(self) -> Tx:
        spent, change = self._choose(0)
        owner = self.random.choice(
            (platform.owners(), platform.owners(*platform.ADDRESSES[1:4], threshold=2))
        )
        return self._sign(subnets.CreateSubnetTx, spent, outputs=change, owner=owner)

    def _on_subnet(self, kind: type[UnsignedTx], **fields: Any) -> Tx:
        if not self.state.subnets.owners:
            return self._create_subnet()
        subnet_id = self.random.choice(list(self.state.subnets.owners))
        spent, change = self._choose(0)
        if "validator" in fields:
            plain = fields.pop("validator")
            fields["validator"] = SubnetValidator(
                plain.node_id, plain.start, plain.end, plain.weight, subnet_id
            )
        else:
            fields["subnet_id"] = subnet_id
        return self._sign(
            kind, spent, outputs=change, authority=self.state.subnets.owners[subnet_id], **fields
        )

    def _create_chain(self) -> Tx:
        return self._on_subnet(subnets.CreateChainTx)

    def _transfer_ownership(self) -> Tx:
        owner = platform.owners(self.random.choice(platform.ADDRESSES))
        return self._on_subnet(subnets.TransferSubnetOwnershipTx, new_owner=owner)

    def _add_subnet_validator(self) -> Tx:
        validators = self._validators()
        if not validators:
            return self._add_validator()
        validator = self.random.choice(validators)
        start, end = self._period(validator)
        weight = self.random.randint(1, 99)
        added = StakingPeriod(validator.node_id, self._at_once_or(start), end, weight)
        return self._on_subnet(subnets.AddSubnetValidatorTx, validator=added)

    def _remove_subnet_validator(self) -> Tx:
        permissioned = [
            staker for staker in self.state.stakers.values() if staker.priority.is_permissioned
        ]
        if not permissioned:
            return self._add_subnet_validator()
        gone = self.random.choice(permissioned)
        spent, change = self._choose(0)
        return self._sign(
            subnets.RemoveSubnetValidatorTx,
            spent,
            outputs=change,
            authority=self.state.subnets.owners[gone.subnet_id],
            node_id=gone.node_id,
            subnet_id=gone.subnet_id,
        )

    def _import(self) -> Tx:
        shared = [utxo for (chain, _), utxo in self.state.utxos.from_peers.items()]
        if not shared:
            return self._export()
        taken = self.random.sample(shared, min(len(shared), 2))
        return self._sign(
            subnets.ImportTx,
            [],
            outputs=(platform.output(_sum(taken) - FEE),),
            imported_inputs=platform.spend_all(*taken),
            more_owners=[inner_output(item.output).owners for item in taken],
        )

    def _export(self) -> Tx:
        amount = self.random.randint(1, 50 * UNIT)
        spent, change = self._choose(amount)
        chain = self.random.choice((platform.X_CHAIN_ID, platform.C_CHAIN_ID))
        return self._sign(
            subnets.ExportTx,
            spent,
            outputs=change,
            destination_chain=chain,
            exported_outputs=platform.outputs(amount),
        )


def burned(tx: Tx) -> int:
    """Return the amount that a transaction burns: its inputs less all its outputs."""
    unsigned: Any = tx.unsigned
    spent = [*unsigned.inputs, *getattr(unsigned, "imported_inputs", ())]
    made = [
        *unsigned.outputs,
        *getattr(unsigned, "stake", ()),
        *getattr(unsigned, "exported_outputs", ()),
    ]
    consumed = sum(
        getattr(spent_input.input, "input", spent_input.input).amount for spent_input in spent
    )
    return consumed - sum(inner_output(item.output).amount for item in made)


def everything(state: MemoryState) -> int:
    """Return the sum of all coins: unspent, staked, exported, and exported by other chains."""
    elsewhere = (*(utxo for _, utxo in state.utxos.exported), *state.utxos.from_peers.values())
    staked = sum(
        staker.weight for staker in state.stakers.values() if not staker.priority.is_permissioned
    )
    return state.unspent() + staked + _sum(elsewhere)


def promised(state: MemoryState) -> int:
    """Return the rewards that are already part of the supply but not paid yet."""
    current = [staker for staker in state.stakers.values() if not staker.priority.is_pending]
    accrued = sum(
        state.stakers.delegatee_reward(other.tx_id)
        for other in current
        if other.priority is Priority.PRIMARY_VALIDATOR_CURRENT
    )
    return accrued + sum(item.potential_reward for item in current)


def _is_primary(staker: Staker) -> bool:
    return staker.subnet_id == PRIMARY_NETWORK_ID


def _sum(utxos: Any) -> int:
    return sum(inner_output(utxo.output).amount for utxo in utxos)


def _sorted(outputs: Any) -> tuple[TransferableOutput, ...]:
    return sort_outputs(outputs, CODEC)


def _locked(utxo: UTXO, amount: int) -> TransferableOutput:
    """Return a part of a locked output: the same lock and owners."""
    lock: Any = utxo.output
    inner = type(lock.output)(amount, lock.output.owners)
    return TransferableOutput(utxo.asset_id, LockOut(lock.locktime, inner))


def _keys_of(owners: OutputOwners) -> list[bytes]:
    return [KEY_OF[address] for address in owners.addresses[: owners.threshold]]
