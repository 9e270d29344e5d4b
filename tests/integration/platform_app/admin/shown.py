"""Values in the notation of the admin, and the keys of one row of each kind."""

from platform_app import models
from primitives.addresses import format_address
from primitives.ids import ID, ShortID, utxo_id
from tests.builders import platform_history as past


def address(short_id: ShortID) -> str:
    """Return an address in the format of this network."""
    return format_address("P", "local", short_id)


def unspent(number: int, index: int = 0) -> ID:
    """Return the ID of an output of a transfer."""
    return utxo_id(past.transfer_tx(number).tx_id, index)


def exported(number: int) -> ID:
    """Return the ID of an output exported to the C-Chain."""
    return utxo_id(past.export_tx(number).tx_id, 1)


def keys() -> dict[str, object]:
    """Return the key of one row of each kind, as it appears in the URL of its page."""
    return {
        "block": 2,
        "tx": past.transfer_tx(3).tx_id,
        "validator": past.validator_tx(3).tx_id,
        "delegator": past.delegator_tx(3, past.Sizes().validators).tx_id,
        "subnet": past.subnet_tx(3).tx_id,
        "blockchain": past.blockchain_tx(3, past.Sizes().subnets).tx_id,
        "utxo": unspent(3),
        "sharedoutput": exported(3),
        "mempooltx": past.waiting_tx(3).tx_id,
        "droppedtx": past.dropped_id(59),
        "keystoreuser": models.KeystoreUser.objects.get(name="user 003 <b>").pk,
    }
