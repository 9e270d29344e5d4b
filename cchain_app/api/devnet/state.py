"""anvil_setBalance and similar methods, which edit the state at the head (devnet.md 3)."""

from collections.abc import Sequence

from cchain_app.api.eth import execution
from cchain_app.api.params.values import Tag
from cchain_app.api.rpc import EvmRpc
from cchain_app.development.errors import DevelopmentReason, NoBalanceSlot
from cchain_app.evm.engine import CallMessage
from cchain_app.evm.overrides import AccountOverride
from cchain_app.selectors.state import StateAt
from cchain_app.services import cheats
from primitives.evm import ZERO_ADDRESS, Address, Slot, Word
from primitives.hashing import keccak256

_MOST: int = 2**256 - 1
_CALL_GAS = 30_000_000


def set_balance(rpc: EvmRpc, address: Address, wei: int) -> None:
    """anvil_setBalance, hardhat_setBalance: set an account's balance.

    Raises:
        DevelopmentError: Other nodes follow the chain.
    """
    cheats.change_state(rpc.chain, [cheats.balance(address, wei)])


def set_balances(rpc: EvmRpc, addresses: Sequence[Address], wei: int) -> None:
    """tenderly_setBalance: set the balance of one or more accounts. Raises as `set_balance`."""
    cheats.change_state(rpc.chain, [cheats.balance(address, wei) for address in addresses])


def add_balance(rpc: EvmRpc, address: Address, wei: int) -> None:
    """anvil_addBalance: add to a balance, up to 2^256-1. Raises as `set_balance`."""
    add_balances(rpc, [address], wei)


def add_balances(rpc: EvmRpc, addresses: Sequence[Address], wei: int) -> None:
    """tenderly_addBalance: add to the balance of one or more accounts. Raises as `set_balance`."""

    def more(state: StateAt) -> list[cheats.AccountEdit]:
        return [
            cheats.balance(fromkey, min(_MOST, _balance_of(state, fromkey) + wei))
            for fromkey in dict.fromkeys(addresses)
        ]

    cheats.change_state(rpc.chain, more)


def _balance_of(state: StateAt, address: Address) -> int:
    account = state.account(address)
    return 0 if account is None else account.balance


def set_code(rpc: EvmRpc, address: Address, code: bytes) -> None:
    """anvil_setCode, hardhat_setCode: set an account's code; empty code removes it. Raises as `set_balance`.

    Storage and nonce stay. Neither the size limit nor the rule about 0xEF applies; a precompile stays a precompile.
    """
    cheats.change_state(rpc.chain, [cheats.code(address, code)])


def set_nonce(rpc: EvmRpc, address: Address, nonce: int) -> None:
    """anvil_setNonce, hardhat_setNonce: set an account's nonce, which may be lower. Raises as `set_balance`."""
    cheats.change_state(rpc.chain, [cheats.nonce(address, nonce)])


def set_storage_at(rpc: EvmRpc, address: Address, slot: Slot, value: Word) -> bool:
    """anvil_setStorageAt, hardhat_setStorageAt: set a storage slot; zero deletes it. Raises as `set_balance`."""
    cheats.change_state(rpc.chain, [cheats.storage(address, slot, value)])
    return True


def set_erc20_balance(rpc: EvmRpc, holder: Address, token: Address, amount: int) -> None:
    """anvil_dealERC20, anvil_setERC20Balance: set an account's balance of a token.

    The storage slot is found by trying the slots that `balanceOf` reads.

    Raises:
        NoBalanceSlot: The answer of `balanceOf` depends on none of these slots.
        DevelopmentError: Other nodes follow the chain.
    """
    question = _question("balanceOf(address)", holder)
    _set_slot(rpc, token, question, amount, "balance")


def set_erc20_balance_of(rpc: EvmRpc, token: Address, holder: Address, amount: int) -> None:
    """tenderly_setErc20Balance: set an account's balance of a token; the token is the first parameter.

    Raises as `set_erc20_balance`.
    """
    set_erc20_balance(rpc, holder, token, amount)


def set_erc20_allowance(
    rpc: EvmRpc, owner: Address, spender: Address, token: Address, amount: int
) -> None:
    """anvil_setERC20Allowance: set a spender's allowance of a token. Raises as `set_erc20_balance`."""
    _set_slot(
        rpc, token, _question("allowance(address,address)", owner, spender), amount, "allowance"
    )


def _question(signature: str, *accounts: Address) -> bytes:
    selector = keccak256(signature.encode())[:4]
    return selector + b"".join(bytes(12) + account for account in accounts)


def _set_slot(rpc: EvmRpc, token: Address, question: bytes, amount: int, what: str) -> None:
    message = CallMessage(ZERO_ADDRESS, token, _CALL_GAS, 0, 0, question)
    value = Word(amount.to_bytes(32, "big"))
    context = execution.make_context(rpc, Tag.LATEST, None, None)
    read = context.run(message, with_access_list=True).access_list or ()
    for address, slots in read:
        for slot in slots:
            override = {address: AccountOverride(state_diff={slot: value})}
            answer = execution.make_context(rpc, Tag.LATEST, override, None).run(message)
            if answer.error is None and answer.output[:32] == value:
                cheats.change_state(rpc.chain, [cheats.storage(address, slot, value)])
                return
    raise NoBalanceSlot(DevelopmentReason.NO_BALANCE_SLOT, what=what)
