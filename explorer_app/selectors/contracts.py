"""Read-only calls of contracts, at a height, with limited gas and time."""

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from typing import Final

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import (
    BlockEnv,
    CallInterrupted,
    CallMessage,
    CallRejected,
    CallResult,
)
from cchain_app.forking.errors import UpstreamError
from cchain_app.selectors import blocks
from cchain_app.selectors.state import prefetch_accounts, state_at
from cchain_app.txs.transaction import DELEGATION_PREFIX
from explorer_app.tokens import questions
from explorer_app.tokens.questions import GAS, MAX_ANSWER, gas_limit
from explorer_app.tokens.strings import read_text
from primitives.evm import ZERO_ADDRESS, Address
from primitives.hashing import EMPTY_HASH

SECONDS: Final = 0.5
"""Time limit of a call."""


class DetailsUnavailable(Exception):
    """The answer of a contract could not be determined, which is different from a contract that does not answer.

    The call took too long, or the chain is a fork whose remote node did not return the state.
    """


class Contracts:
    """The contracts of a chain after one of its blocks.

    Args:
        chain: The chain.
        block: The block after which contracts are called.
    """

    def __init__(self, chain: EvmChain, block: AcceptedBlock) -> None:
        self._chain = chain
        self._block = block
        self._state = state_at(chain, block.number)

    @property
    def height(self) -> int:
        """The height at which contracts are called."""
        return self._block.number

    def ask(self, to: Address, question: bytes, gas: int = GAS) -> bytes | None:
        """Return the answer of a contract; None if the call fails or the answer is too long.

        Args:
            to: The contract.
            question: Selector and arguments.
            gas: Limit of gas for the contract's code.

        Raises:
            DetailsUnavailable: The answer could not be determined. Fetched state is cached, so the next call takes less time.
        """
        try:
            result = self.call(to, question, gas_limit(question, gas), self._seconds)
        except CallRejected:
            return None
        except (CallInterrupted, UpstreamError) as error:
            raise DetailsUnavailable(str(error)) from error
        if result.error is not None or len(result.output) > MAX_ANSWER:
            return None
        return result.output

    def call(self, to: Address, data: bytes, gas: int, seconds: float) -> CallResult:
        """Call a contract, without value and from the zero address.

        Args:
            to: The contract.
            data: Selector and arguments.
            gas: Gas limit of the message, including the intrinsic gas of a transaction.
            seconds: Time limit.

        Raises:
            CallRejected: The call could not start.
            CallInterrupted: The call took too long.
            UpstreamError: The chain is a fork, and the remote node did not return the state.
        """
        # The base fee is 0 for a call that pays nothing, whatever it is in the block.
        message = CallMessage(ZERO_ADDRESS, to, gas, 0, 0, data)
        return self._chain.engine.call(self._env, message, self._state, time_limit=seconds)

    def signing_accounts(self, addresses: Collection[Address]) -> set[Address]:
        """Return the accounts that can sign transactions, which means that they have no code of their own.

        Raises:
            DetailsUnavailable: The chain is a fork, and the remote node did not return the state.
        """
        try:
            prefetch_accounts(self._chain, sorted(addresses), self.height)
            return {address for address in addresses if self._signs(address)}
        except UpstreamError as error:
            raise DetailsUnavailable(str(error)) from error

    def _signs(self, address: Address) -> bool:
        account = self._state.account(address)
        if account is None or account.code_hash == EMPTY_HASH:
            return True
        return self._state.code(account.code_hash).startswith(DELEGATION_PREFIX)

    @property
    def _seconds(self) -> float:
        """Time limit of a call; on a fork it includes waiting for the remote node."""
        chain = self._chain
        return SECONDS if chain.fork is None else SECONDS + chain.settings.fork.timeout

    @cached_property
    def _env(self) -> BlockEnv:
        env = self._chain.rules.env_of(self._block)
        return env if env.base_fee is None else replace(env, base_fee=0)


def uri_of(chain: EvmChain, address: Address, token_id: int, *, is_collection: bool) -> str | None:
    """Return the metadata URI of a token, as its contract reports it now; None if it does not.

    Args:
        chain: The chain.
        address: The contract.
        token_id: The token's ID.
        is_collection: Whether the contract is an ERC-721; else it is an ERC-1155.
    """
    question = questions.uri(token_id, is_collection=is_collection)
    try:
        answer = Contracts(chain, blocks.head(chain)).ask(address, question)
    except DetailsUnavailable:
        return None
    return None if answer is None else read_text(answer, questions.MAX_ANSWER)
