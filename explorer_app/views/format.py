"""One-sentence descriptions of P-Chain transactions. Amounts are in coins, with the coin's symbol."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adminkit.formats import format_duration, format_time, format_units
from platform_app.txs import l1, staking, subnets
from platform_app.txs.base import BaseTx, Tx, inner_input, inner_output
from platform_app.txs.warp import (
    L1Message,
    L1ValidatorWeight,
    RegisterL1Validator,
    requested_by,
)
from primitives.counting import counted
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from utxo.errors import InvalidTx


@dataclass(frozen=True)
class Coin:
    """The P-Chain's coin, for texts."""

    unit: int
    """Smallest units in a coin."""
    symbol: str
    chains: Mapping[ID, str] = field(default_factory=dict)
    """What sentences call the other chains, by their IDs: `the C-Chain`."""

    def chain(self, chain_id: ID) -> str:
        """Return the name of a chain in a sentence."""
        return self.chains.get(chain_id) or f"the blockchain {chain_id}"

    def amount(self, units: int) -> str:
        """Return an exact amount of smallest units in coins."""
        return f"{format_units(units, self.unit)} {self.symbol}"


def sentence(tx: Tx, coin: Coin) -> str:
    """Return a description of a transaction by its type; the name of the type if there is no description."""
    unsigned: Any = tx.unsigned
    say = _WORDS.get(type(unsigned))
    return type(unsigned).__name__ if say is None else say(unsigned, coin)


def _base(tx: Any, coin: Coin) -> str:
    total = sum(inner_output(transferable.output).amount for transferable in tx.outputs)
    return f"Moves {coin.amount(total)} to {counted(len(tx.outputs), 'output')}"


def _export(tx: Any, coin: Coin) -> str:
    total = sum(inner_output(transferable.output).amount for transferable in tx.exported_outputs)
    return f"Exports {coin.amount(total)} to {coin.chain(tx.destination_chain)}"


def _import(tx: Any, coin: Coin) -> str:
    total = sum(inner_input(transferable.input).amount for transferable in tx.imported_inputs)
    return f"Imports {coin.amount(total)} from {coin.chain(tx.source_chain)}"


def _validator(tx: Any, coin: Coin) -> str:
    validator = tx.validator
    subnet = getattr(tx, "subnet_id", PRIMARY_NETWORK_ID)
    where = "the Primary Network" if subnet == PRIMARY_NETWORK_ID else f"the subnet {subnet}"
    return f"{validator.node_id} stakes {coin.amount(validator.weight)} to validate {where} until {format_time(validator.end)}"


def _delegator(tx: Any, coin: Coin) -> str:
    validator = tx.validator
    return f"Delegates {coin.amount(validator.weight)} to {validator.node_id} until {format_time(validator.end)}"


def _subnet_validator(tx: Any, _coin: Coin) -> str:
    validator = tx.validator
    return f"{validator.node_id} validates the subnet {validator.subnet_id} with weight {validator.weight:,} until {format_time(validator.end)}"


def _remove(tx: Any, _coin: Coin) -> str:
    return f"Removes {tx.node_id} from the validators of the subnet {tx.subnet_id}"


def _create_subnet(tx: Any, _coin: Coin) -> str:
    owner = tx.owner
    return (
        f"Creates a subnet that {owner.threshold} of {counted(len(owner.addresses), 'key')} control"
    )


def _create_chain(tx: Any, _coin: Coin) -> str:
    return f"Creates the blockchain “{tx.chain_name}” on the subnet {tx.subnet_id}"


def _transfer_ownership(tx: Any, _coin: Coin) -> str:
    return f"Transfers the ownership of the subnet {tx.subnet_id}"


def _reward(tx: Any, _coin: Coin) -> str:
    return f"Ends the staking period of {tx.tx_id} and decides whether its reward is paid"


def _auto_renewed(tx: Any, coin: Coin) -> str:
    stake = sum(inner_output(staked.output).amount for staked in tx.stake)
    return (
        f"{NodeID(tx.node_id)} stakes {coin.amount(stake)} to validate the Primary Network in periods of "
        f"{format_duration(tx.period)} and restakes {_share(tx.auto_compound_reward_shares)} of its rewards"
    )


def _share(millionths: int) -> str:
    """Return a share in percent, exactly."""
    return f"{format_units(millionths, 10_000)} %"


def _renewal_terms(tx: Any, _coin: Coin) -> str:
    if tx.period == 0:
        return f"Ends the renewal of the validator {tx.tx_id}: it leaves at the end of its present period"
    return (
        f"Renews the validator {tx.tx_id} for periods of {format_duration(tx.period)} "
        f"and restakes {_share(tx.auto_compound_reward_shares)} of its rewards"
    )


def _period_end(tx: Any, _coin: Coin) -> str:
    return (
        f"Ends the staking period of {tx.tx_id} at {format_time(tx.timestamp)}, "
        "and decides whether its reward is paid and the next period begins"
    )


def _advance(tx: Any, _coin: Coin) -> str:
    return f"Advances the chain time to {format_time(tx.time)}"


def _transform(tx: Any, _coin: Coin) -> str:
    return f"Makes the subnet {tx.subnet_id} permissionless with the staking asset {tx.asset_id}"


def _convert(tx: Any, _coin: Coin) -> str:
    count = counted(len(tx.validators), "validator")
    return f"Converts the subnet {tx.subnet_id} to an L1 with {count}, managed on the blockchain {tx.chain_id}"


def _register(tx: Any, coin: Coin) -> str:
    request = _request(tx)
    if not isinstance(request, RegisterL1Validator):
        return "Registers a validator of an L1"
    balance = f"a balance of {coin.amount(tx.balance)}" if tx.balance else "no balance"
    return (
        f"Registers {NodeID(request.node_id)} as a validator of the L1 {request.subnet_id} "
        f"with weight {request.weight:,} and {balance}"
    )


def _set_weight(tx: Any, _coin: Coin) -> str:
    request = _request(tx)
    if not isinstance(request, L1ValidatorWeight):
        return "Sets the weight of a validator of an L1"
    if request.weight == 0:
        return f"Removes the L1 validator {request.validation_id} and returns its balance"
    return f"Sets the weight of the L1 validator {request.validation_id} to {request.weight:,}"


def _increase(tx: Any, coin: Coin) -> str:
    return f"Adds {coin.amount(tx.balance)} to the balance of the L1 validator {tx.validation_id}"


def _disable(tx: Any, _coin: Coin) -> str:
    return f"Disables the L1 validator {tx.validation_id} and returns the rest of its balance"


def _request(tx: Any) -> L1Message | None:
    try:
        return requested_by(tx.message)
    except InvalidTx:
        return None


_WORDS: dict[type, Callable[[Any, Coin], str]] = {
    BaseTx: _base,
    subnets.ExportTx: _export,
    subnets.ImportTx: _import,
    staking.AddValidatorTx: _validator,
    staking.AddPermissionlessValidatorTx: _validator,
    staking.AddDelegatorTx: _delegator,
    staking.AddPermissionlessDelegatorTx: _delegator,
    staking.RewardValidatorTx: _reward,
    staking.AdvanceTimeTx: _advance,
    subnets.AddSubnetValidatorTx: _subnet_validator,
    subnets.RemoveSubnetValidatorTx: _remove,
    subnets.CreateSubnetTx: _create_subnet,
    subnets.CreateChainTx: _create_chain,
    subnets.TransferSubnetOwnershipTx: _transfer_ownership,
    subnets.TransformSubnetTx: _transform,
    l1.ConvertSubnetToL1Tx: _convert,
    l1.RegisterL1ValidatorTx: _register,
    l1.SetL1ValidatorWeightTx: _set_weight,
    l1.IncreaseL1ValidatorBalanceTx: _increase,
    l1.DisableL1ValidatorTx: _disable,
    l1.AddAutoRenewedValidatorTx: _auto_renewed,
    l1.SetAutoRenewedValidatorConfigTx: _renewal_terms,
    l1.RewardAutoRenewedValidatorTx: _period_end,
}
