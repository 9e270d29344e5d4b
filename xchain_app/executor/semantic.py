"""Semantic rules: the checks of a transaction on a state, in the reference's order (xchain.md 8).

Unspecified: locktimes are compared with the time that the caller passes: the block's, or for admission the later of chain
time and clock. The reference uses each node's own clock, so nodes whose clocks differ could disagree about a block.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from primitives.ids import ID
from utxo.components import Credential, TransferableInput
from utxo.errors import InvalidTx
from utxo.spending import SignerRecovery
from xchain_app.config import AvmEnv
from xchain_app.executor.errors import AvmStateReason, MissingAvmUtxo, MissingSharedUtxo
from xchain_app.executor.operations import verify_operation
from xchain_app.executor.spending import SigningContext, verify_input, verify_usage
from xchain_app.state.chain import AvmState
from xchain_app.txs.base import AssetOperation, AvmExportTx, AvmImportTx, AvmTx, OperationTx
from xchain_app.txs.extensions import COINS, extension_of


def verify_semantics(tx: AvmTx, state: AvmState, env: AvmEnv, now: int) -> None:
    """Check a well-formed transaction on a state.

    Args:
        tx: The transaction, which has passed `verify_syntax`.
        state: The state with the outputs that it consumes.
        env: The chain and its network.
        now: The time in Unix seconds that locktimes are compared with.

    Raises:
        InvalidTx: It cannot be executed; the reason says why. `MissingSharedUtxo`: an imported output is not in shared
            memory.
    """
    unsigned = tx.unsigned
    context = SigningContext(SignerRecovery(tx.digest), now, env.bootstrapped)
    credentials = iter(tx.credentials)
    with _refused_as(AvmStateReason.TRANSFER_NOT_VERIFIED):
        for spent in unsigned.inputs:
            _verify_own_input(context, state, spent, next(credentials))
    with _refused_as(AvmStateReason.USAGE_NOT_VERIFIED):
        for output in unsigned.outputs:
            verify_usage(state, COINS, output.asset_id)
    if isinstance(unsigned, OperationTx) and env.bootstrapped:
        for operation in unsigned.operations:
            _verify_operation(context, state, operation, next(credentials))
    elif isinstance(unsigned, AvmImportTx) and env.bootstrapped:
        _verify_peer(unsigned.source_chain, env)
        _verify_imports(context, state, unsigned, tuple(credentials))
    elif isinstance(unsigned, AvmExportTx):
        if env.bootstrapped:
            _verify_peer(unsigned.destination_chain, env)
        for output in unsigned.exported_outputs:
            verify_usage(state, COINS, output.asset_id)


@contextmanager
def _refused_as(reason: AvmStateReason) -> Iterator[None]:
    try:
        yield
    except InvalidTx as cause:
        raise InvalidTx(reason, cause=cause) from cause


def _verify_own_input(
    context: SigningContext, state: AvmState, spent: TransferableInput, credential: Credential
) -> None:
    utxo = state.utxo(spent.utxo_id)
    if utxo is None:
        raise MissingAvmUtxo(AvmStateReason.UTXO_MISSING, utxo_id=spent.utxo_id)
    verify_input(context, state, spent, credential, utxo)


def _verify_operation(
    context: SigningContext, state: AvmState, operation: AssetOperation, credential: Credential
) -> None:
    contents = []
    for reference in operation.input_ids:
        utxo = state.utxo(reference.utxo_id)
        if utxo is None:
            raise MissingAvmUtxo(AvmStateReason.NOT_FOUND)
        if utxo.asset_id != operation.asset_id:
            raise InvalidTx(AvmStateReason.ASSET_MISMATCH)
        contents.append(utxo.output)
    verify_usage(state, extension_of(operation.operation), operation.asset_id)
    verify_operation(context, operation.operation, credential, contents)


def _verify_imports(
    context: SigningContext,
    state: AvmState,
    unsigned: AvmImportTx,
    credentials: Sequence[Credential],
) -> None:
    utxos = []
    for spent in unsigned.imported_inputs:
        utxo = state.shared(unsigned.source_chain, spent.utxo_id)
        if utxo is None:
            raise MissingSharedUtxo(AvmStateReason.NOT_FOUND)
        utxos.append(utxo)
    for spent, utxo, credential in zip(unsigned.imported_inputs, utxos, credentials, strict=True):
        verify_input(context, state, spent, credential, utxo)


def _verify_peer(chain_id: ID, env: AvmEnv) -> None:
    """Check that a chain is another chain of the same subnet."""
    if chain_id == env.chain_id:
        raise InvalidTx(AvmStateReason.SAME_CHAIN)
    subnet_id = env.subnet_of(chain_id)
    if subnet_id is None:
        raise InvalidTx(AvmStateReason.UNKNOWN_PEER, chain_id=chain_id)
    if subnet_id != env.subnet_id:
        raise InvalidTx(AvmStateReason.PEER_OF_OTHER_SUBNET, expected=env.subnet_id, got=subnet_id)
