"""Where a contract comes to stand (yellow paper, 7; CREATE2 is the EVM's own business)."""

from primitives import rlp
from primitives.evm import Address
from primitives.hashing import keccak256


def contract_address(sender: Address, nonce: int) -> Address:
    """Return the address of the contract that a creation with this sender and nonce makes."""
    encoded = rlp.encode_list((rlp.encode_bytes(sender), rlp.encode_uint(nonce)))
    return Address(keccak256(encoded)[12:])
