"""Names of the accounts on a page, read together for all of them.

Tokens, verified contracts and proxies have names, and the accounts that the rules of the chain know.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Final, NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.config import BLACKHOLE
from cchain_app.forks import precompiles, system_contracts
from cchain_app.selectors import blocks
from cchain_app.selectors.state import stored_code_hashes
from explorer_app.selectors import proxies, tokens, verified
from explorer_app.selectors.proxies import StoredTarget
from explorer_app.selectors.tokens import TokenRow
from explorer_app.tokens.strings import looks_like_a_link
from primitives.evm import Address

MAX_LABELS: Final = 300
"""Limit of addresses per page whose names are read."""

_UNVERIFIED: Final = "unverified"
_NO_PROXY: Final = "the implementation is verified, the proxy's own code is not"
_NO_IMPLEMENTATION: Final = "the proxy's own code is verified, the implementation is not"


class ContractLabel(NamedTuple):
    """The name of a contract, which is not unique: anybody can deploy a contract with any name."""

    name: str
    contract: str
    """The name of its verified sources; for a proxy that of its implementation's. Empty: not verified.

    A proxy that is found by a slot only counts as verified if its own sources are verified too, because its code may do
    anything else besides.
    """
    token: TokenRow | None
    kind: str = ""
    """The kind of an account that is neither verified nor a token, in one or two words."""
    remark: str = ""
    """Why a proxy does not count as verified; empty for others."""

    @property
    def is_verified(self) -> bool:
        """Whether all code that the contract runs is verified."""
        return bool(self.contract)

    @property
    def is_copy(self) -> bool:
        """Whether the name is a token's and an earlier token or the chain's coin has the same one."""
        return self.token is not None and self.token.is_copy


def labels(chain: EvmChain, addresses: Iterable[Address]) -> dict[Address, ContractLabel]:
    """Return the names of those addresses that have one, in a number of statements that does not depend on them.

    A token has its symbol, else its name. Another contract has the name of its verified sources, and a proxy is named
    after its implementation. A token's name that looks like a link is not used. The rules of the chain name precompiled
    contracts, system contracts, and the account whose coins cannot be spent.
    """
    first = set(islice(addresses, MAX_LABELS))
    known = _of_rules(chain)
    of_rules = {address: known[address] for address in first if address in known}
    return of_rules | _of_contracts(chain, first - set(of_rules))


def plain_names(chain: EvmChain, addresses: Iterable[Address]) -> dict[Address, str]:
    """Return the same names as texts, each with a mark if the contract is verified, or else with its kind."""
    return {address: _plain(label) for address, label in labels(chain, addresses).items()}


def _plain(label: ContractLabel) -> str:
    if label.is_copy:
        return f"{label.name} (not the first of this name)"
    if label.is_verified:
        return f"{label.name} ✓"
    return f"{label.name} ({label.kind or 'token'})"


def _of_rules(chain: EvmChain) -> dict[Address, ContractLabel]:
    """Return the names of the accounts that the rules of the next block know."""
    fork = blocks.fork_of_next(chain, blocks.head(chain))
    named = [(address, name, "precompile") for name, address in precompiles(fork).items()]
    for name, address in system_contracts(fork).items():
        named.append((address, name.removesuffix("_ADDRESS"), "system contract"))
    if chain.config.coinbase == BLACKHOLE:
        named.append((BLACKHOLE, "Burned fees", "no key is known"))
    return {address: ContractLabel(name, "", None, kind=kind) for address, name, kind in named}


def _of_contracts(chain: EvmChain, addresses: Collection[Address]) -> dict[Address, ContractLabel]:
    hashes = stored_code_hashes(chain, addresses) if addresses else {}
    if not hashes:
        return {}
    targets = proxies.stored_targets(chain, hashes)
    others = {target.address for target in targets.values()} - set(hashes)
    names = verified.names(chain, hashes | (stored_code_hashes(chain, others) if others else {}))
    listed_tokens = tokens.tokens_at(chain, hashes)
    found = (_label(address, names, targets, listed_tokens.get(address)) for address in hashes)
    return {
        address: label for address, label in zip(hashes, found, strict=True) if label is not None
    }


def _label(
    address: Address,
    names: Mapping[Address, str],
    targets: Mapping[Address, StoredTarget],
    token: TokenRow | None,
) -> ContractLabel | None:
    target, own = targets.get(address), names.get(address, "")
    behind = own if target is None else names.get(target.address, "")
    contract = behind if target is None or target.is_certain or own else ""
    claimed = next((text for text in (token.symbol, token.name) if text), None) if token else None
    if token is not None and claimed is not None and not looks_like_a_link(claimed):
        return ContractLabel(claimed, contract, token)
    if not behind:  # the implementation is unknown
        return ContractLabel(own, "", None, _UNVERIFIED, _NO_IMPLEMENTATION) if own else None
    name = behind if target is None else f"Proxy ({behind})"
    if contract:
        return ContractLabel(name, contract, None)
    return ContractLabel(name, "", None, _UNVERIFIED, _NO_PROXY)
