"""One-sentence descriptions of P-Chain transactions. Amounts are in coins, with the coin's symbol."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adminkit.formats import format_time, format_units
from platform_app.txs import l1, staking, subnets
from platform_app.txs.base import BaseTx, Tx, inner_input, inner_output
from primitives.counting import counted
from primitives.ids import ID, PRIMARY_NETWORK_ID


@dataclass(frozen=True)
class Coin:
    """The P-Chain's coin, for texts."""

    unit: int
    """Smallest units in a coin."""
    symbol: str
    chains: Mapping[ID, str] = field(default_factory=dict)
    """What sentences call the other chains, by their IDs: `the C-Chain`."""

    def chain(self, chain_id: ID) -> str:
        """Return what a sentence calls a chain."""
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


def _advance(tx: Any, _coin: Coin) -> str:
    return f"Advances the chain time to {format_time(tx.time)}"


def _transform(tx: Any, _coin: Coin) -> str:
    return f"Makes the subnet {tx.subnet_id} permissionless with the staking asset {tx.asset_id}"


def _convert(tx: Any, _coin: Coin) -> str:
    return f"Converts the subnet {tx.subnet_id} to an L1 with {counted(len(tx.validators), 'validator')}"


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
}
