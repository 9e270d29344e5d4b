"""The banner of the start: accounts with balances and keys, the chain's parameters, and all URLs, as Anvil prints them."""

from collections.abc import Callable

from cchain_app.accounts.keyring import are_known
from cchain_app.selectors import blocks, development
from cchain_app.selectors.state import prefetch_accounts, state_at
from cchain_app.transaction_log.text import coins
from chaindb.chains import C_CHAIN, X_CHAIN, absence, is_left_out
from explorer_app.selectors import known_accounts
from explorer_app.selectors.known_accounts import KnownAccount
from jsonrpc.dispatch.caller import naming
from nodeproject.management import x_accounts
from nodeproject.management.terminal import print_as_markdown, print_section
from nodeproject.node import Node
from platform_app.selectors.stored import StoredPlatform, stored_platform
from primitives.hexadecimal import checksum_address
from primitives.ids import PRIMARY_NETWORK_ID
from primitives.networks import LOCAL, hrp_of, label
from primitives.product import NAME, VERSION


def banner_of(node: Node) -> Callable[[str], None]:
    """Return a function that prints the banner for the base of the node's URLs; rows are read now.

    Keys are printed on the local network only, and only those that are public.
    """
    platform = stored_platform(node.database)
    assert platform is not None, "the start has made the P-Chain's genesis"
    parts = {f"{NAME} {VERSION}": _chain(node, platform)}
    accounts = list(known_accounts.accounts_of(node.evm_chain)) if _is_local(node) else []
    if _is_local(node):
        parts |= {
            "Accounts": _balances(node, accounts),
            "Private keys (public: for this local network only)": {
                _place(number, account): account.key or "derived from NODE_MNEMONIC"
                for number, account in enumerate(accounts)
            },
            "Wallet": _wallet(node) if node.evm_chain.keyring else {},
            "Funded on the P-Chain, with their private keys (likewise)": dict(
                known_accounts.of_platform(hrp_of(LOCAL))
            ),
            "On the X-Chain, with the same keys": x_accounts.described(node, platform.unit),
        }
        hidden = known_accounts.not_listed(node.evm_chain)
        if hidden:
            parts["Accounts"]["…"] = hidden

    show = print_as_markdown if node.settings.markdown else print_section

    def printed(base: str) -> None:
        for title, facts in {**parts, "URLs": _urls(node, base)}.items():
            show(title, facts)

    return printed


def _is_local(node: Node) -> bool:
    return node.settings.common.network_id == LOCAL


def _place(number: int, account: KnownAccount) -> str:
    return "ewoq" if account.is_ewoq else f"({number})"


def _balances(node: Node, accounts: list[KnownAccount]) -> dict[str, str]:
    """Return the accounts' addresses and their balances at the head."""
    chain, symbol = node.evm_chain, node.settings.common.coin_symbol
    head = blocks.head(chain).number
    prefetch_accounts(chain, [account.address for account in accounts], head)
    state, shown = state_at(chain, head), {}
    for number, account in enumerate(accounts):
        found = state.account(account.address)
        balance = coins(0 if found is None else found.balance)
        poor = "" if account.is_funded else " (no coins: not in the genesis)"
        shown[_place(number, account)] = (
            f"{checksum_address(account.address)}  {balance} {symbol}{poor}"
        )
    return shown


def _wallet(node: Node) -> dict[str, str]:
    """Return the mnemonic of the accounts, if it is public, and their derivation path."""
    local = node.settings.cchain.local
    is_known = are_known(local.mnemonic, local.derivation_path)
    hidden = (
        f"random, in {node.settings.mnemonic_path}"
        if local.mnemonic_random
        else "that of NODE_MNEMONIC_SEED"
        if local.mnemonic_seed >= 0
        else "that of NODE_MNEMONIC, which is not shown"
    )
    return {
        "Mnemonic": local.mnemonic if is_known else hidden,
        "Derivation path": local.derivation_path,
    }


def _chain(node: Node, platform: StoredPlatform) -> dict[str, str]:
    """Return the parameters of the chains, and where the node keeps them."""
    settings, evm = node.settings, node.evm_chain
    facts = {"Network": str(settings.common.network_id)}
    if not is_left_out(C_CHAIN):
        head = blocks.head(evm)
        fee = blocks.base_fee_after(evm, head)
        mining = (
            development.mining(evm) if blocks.are_made(evm) else "off: the C-Chain was imported"
        )
        facts |= {
            "Chain ID": str(evm.config.chain_id),
            "Hard fork": blocks.fork_of_next(evm, head),
            "Base fee": "none before London" if fee is None else f"{fee} wei",
            "Gas limit": str(head.header.gas_limit),
            "Mining": mining,
        }
    facts |= {
        "Node ID": str(node.identity.node_id),
        "Heads": f"C-Chain block {blocks.head(evm).number}, P-Chain block {platform.height}",
        "Engine": evm.engine.name,
        "Data": f"{settings.common.directory} ({settings.common.profile} profile)",
    }
    if (fork := evm.fork) is not None:
        facts["Fork"] = f"of block {fork.number} of {fork.url}; no other node follows"
    if keys := _private_keys(node):
        named = ", ".join(naming(settings.common.allowed_origins)) or "none"
        facts["Web pages"] = (
            f"may not use the keys of {keys}; origins named in NODE_ALLOWED_ORIGINS may: {named}"
        )
    return facts


def _private_keys(node: Node) -> str:
    """Return the names of the settings with private keys that this node signs with; empty if there are none."""
    settings = node.settings
    pays = settings.explorer.faucet and settings.explorer.faucet_key_file
    signing = {
        "NODE_MNEMONIC": node.evm_chain.has_private_keys,
        "NODE_FAUCET_KEY_FILE": bool(pays),
    }
    return " and ".join(name for name, is_private in signing.items() if is_private)


def _urls(node: Node, base: str) -> dict[str, str]:
    """Return the URLs of all interfaces."""
    settings = node.settings
    none = f"none: {absence(C_CHAIN)}" if is_left_out(C_CHAIN) else None
    return {
        "RPC": none or f"{base} (also {base}/ext/bc/C/rpc)",
        "WebSocket": none or f"ws{base[4:]} (also ws{base[4:]}/ext/bc/C/ws)",
        **{
            label(chain.title, chain.name): f"{base}/ext/bc/{chain.name}/rpc"
            for chain in tuple(node.evm_chains.values())
            if chain.subnet_id != PRIMARY_NETWORK_ID
        },
        "P-Chain": f"{base}/ext/bc/P",
        "X-Chain": f"none: {absence(X_CHAIN)}" if is_left_out(X_CHAIN) else f"{base}/ext/bc/X",
        "Explorer": f"{base}/",
        "API reference": f"{base}/ext/docs",
        "Admin": f"{base}/admin/ (user {settings.admin_user}, password in {settings.password_path})",
        "Keystore": f"{base}/ext/keystore",
        "Health": f"{base}/ext/health",
        "Metrics": f"{base}/ext/metrics",
    }
