"""Funded accounts with publicly known keys, on a local network, for users who connect a wallet."""

from collections.abc import Iterator
from typing import Final

from cchain_app.accounts.keyring import EWOQ, are_known
from cchain_app.chain import EvmChain
from platform_app.chain import PlatformChain
from primitives.addresses import format_address
from primitives.hexadecimal import checksum_address
from primitives.keys import DEV_KEYS, PLATFORM_DEV_KEYS, address_of, format_private_key

MAX_LISTED: Final = 20
"""Limit of accounts that are shown."""


def of_cchain(chain: EvmChain) -> Iterator[tuple[str, str]]:
    """Yield the accounts of NODE_MNEMONIC, each with its key if the key is publicly known.

    Keys of an operator's own mnemonic are secret and are not shown. A validator or follower has no such accounts; for
    it the accounts of the genesis with publicly known keys are shown.
    """
    settings, keyring = chain.settings.local, chain.keyring
    if not keyring:
        for address, key in DEV_KEYS.items():
            if address in chain.genesis.alloc:
                yield checksum_address(address), key
        return
    are_public = are_known(settings.mnemonic, settings.derivation_path)
    for address in keyring.addresses[:MAX_LISTED]:
        public = are_public or address == EWOQ
        key = f"0x{keyring.key_of(address).hex()}" if public else "derived from NODE_MNEMONIC"
        poor = "" if address in chain.genesis.alloc else " (no coins: not in the genesis)"
        yield checksum_address(address), key + poor
    if len(keyring) > MAX_LISTED:
        listed = ", listed by eth_accounts" if chain.has_development_methods else ""
        yield "…", f"{len(keyring) - MAX_LISTED} more{listed}"


def of_platform(chain: PlatformChain) -> Iterator[tuple[str, str]]:
    """Yield the keys that have coins on the P-Chain in a local network's genesis."""
    hrp = chain.config.hrp
    for key in PLATFORM_DEV_KEYS:
        yield format_address("P", hrp, address_of(key)), format_private_key(key)
