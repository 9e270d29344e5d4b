"""Blocks with payloads: built and verified by both engines, and accepted by the executable specification (atomic.md 12).

The specification knows no payload: it gets the block in Ethereum's layout, on the parent's state after the debits.
"""

from dataclasses import replace
from typing import Any

import pytest
from ethereum.exceptions import InvalidBlock as SpecificationRefuses
from ethereum_rlp import rlp
from ethereum_types.bytes import Bytes20
from ethereum_types.numeric import U64, U256, Uint

from cchain_app.atomic.extension import AtomicExtension, ImportedTooEarly
from cchain_app.atomic.transactions import UnsignedImportTx, join_payload, split_payload
from cchain_app.blocks.accepted import AcceptedBlock, encode_block, make_block
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import BlockReason, BlockRefused
from cchain_app.blocks.header import decode_header
from cchain_app.blocks.receipt import encode_logs
from cchain_app.config import parse_config, with_fork_from_start
from cchain_app.evm.reference_package import load_fork, recursion_for_nested_calls
from cchain_app.evm.select import has_native, select_engine, select_trie
from cchain_app.evm.trie import Tries
from cchain_app.processing import BlockExecutor, EvmProcessingBlocks
from cchain_app.rules.ethereum import PAYLOAD_FORMAT, EthereumRules
from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.transaction import Transaction
from chainvm.port import BlockContext
from primitives.hexadecimal import decode_address, decode_data, encode_data
from primitives.ids import ID, ShortID
from tests.builders.cchain import MemoryState
from tests.builders.reasons import raises
from tests.builders.roots import fork_module
from tests.builders.tries import MemoryNodes, state_from_scratch
from tests.conformance.atomic_vectors import cases
from tests.conformance.cchain_app.atomic.network import parameters_of
from utxo.components import UTXO, OutputOwners, TransferInput, TransferOutput
from utxo.spending import SignerRecovery

ENGINES = [name for name in ("native", "reference") if name == "reference" or has_native()]
CASES = cases("design_blocks")
WITH_IMPORTS = [
    param for param in CASES if any(one["kind"] == "import" for one in param.values[0]["atomic"])
]
WITH_PAYLOAD = [param for param in CASES if param.values[0]["payload"]]


class Case:
    """A block of the vectors with its parent and its parent's state."""

    def __init__(self, values: dict[str, Any], engine: str) -> None:
        self.values = values
        self.state = MemoryState()
        for address, account in values["before"].items():
            self.state.put(
                decode_address(address),
                balance=int(account["balance"]),
                nonce=account["nonce"],
                code=bytes.fromhex(account["code"]),
            )
        root, nodes = state_from_scratch(self.state.accounts, self.state.storages)
        header = decode_header(decode_data(values["parentHeader"]))
        assert header.state_root == root
        self.parent = make_block(header, (), ())
        assert encode_data(self.parent.hash) == values["parentHash"]
        self.state.hashes[header.number] = self.parent.hash
        self.known = self._exported()
        config = parse_config(with_fork_from_start({"chainId": values["chainId"]}, values["fork"]))
        self.extension = AtomicExtension(
            lambda: parameters_of(values),
            lambda _, ids: {i: self.known[i] for i in ids if i in self.known},
        )
        rules = EthereumRules(config, header.gas_limit, PAYLOAD_FORMAT, self.extension)
        executor = BlockExecutor(rules, select_engine(engine), encode_logs)
        tries = Tries(select_trie(engine, cache_bytes=1 << 20), select_trie(engine))
        stored = MemoryNodes()
        stored.stored = nodes
        self.blocks = EvmProcessingBlocks(
            executor,
            tries,
            self.parent,
            self.state,
            stored,
            withdrawals=lambda: values["firstWithdrawalIndex"],
        )
        self.container = decode_data(values["container"])
        self.wanted = decode_header(decode_data(values["header"]))
        self.context = BlockContext(self.wanted.timestamp)
        self.chain_id = values["chainId"]

    @property
    def payload(self) -> bytes | None:
        return bytes.fromhex(self.values["payload"]) or None

    @property
    def transactions(self) -> list[Transaction]:
        return [
            decode_transaction(bytes.fromhex(raw), self.chain_id)
            for raw in self.values["transactions"]
        ]

    def parsed(self, raw: bytes | None = None) -> CandidateBlock:
        return PAYLOAD_FORMAT.parse_block(self.container if raw is None else raw)

    def verify(self, candidate: CandidateBlock, *, decided: bool = False) -> None:
        context = self.context._replace(decided=decided)
        self.blocks.verify(candidate, self.transactions, context)

    def made(self) -> AcceptedBlock:
        made = self.blocks.get(ID(self.wanted_hash))
        assert made is not None
        return made.block

    @property
    def wanted_hash(self) -> bytes:
        return decode_data(self.values["hash"])

    def _exported(self) -> dict[ID, UTXO]:
        """Return the outputs that the imports spend: the vectors name only the transactions."""
        found: dict[ID, UTXO] = {}
        for tx in split_payload(self.payload) if self.payload else ():
            if not isinstance(tx.unsigned, UnsignedImportTx):
                continue
            signers = SignerRecovery(tx.digest)
            for spent, credential in zip(tx.unsigned.imported_inputs, tx.credentials, strict=True):
                assert isinstance(spent.input, TransferInput)
                who = tuple(signers.of(signature) for signature in credential.signatures)  # type: ignore[attr-defined]
                owners = OutputOwners(0, len(who), who)
                content = TransferOutput(spent.input.amount, owners)
                found[spent.utxo_id] = UTXO(
                    spent.tx_id, spent.output_index, spent.asset_id, content
                )
        return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("values", CASES)
def test_both_engines_verify_each_block(values: dict[str, Any], engine: str) -> None:
    case = Case(values, engine)
    case.verify(case.parsed())

    block = case.made()
    assert block.raw == case.container
    assert encode_data(block.ethereum_raw) == values["ethereumBlock"]
    assert block.size == len(block.ethereum_raw)
    assert encode_data(block.header.state_root) == values["stateRoot"]
    state = case.blocks.state_after(ID(block.hash))
    for address, account in values["after"].items():
        found = state.account(decode_address(address))
        assert found is not None
        assert (found.balance, found.nonce) == (int(account["balance"]), account["nonce"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("values", CASES)
def test_both_engines_build_each_block(values: dict[str, Any], engine: str) -> None:
    case = Case(values, engine)
    built = case.blocks.build(
        case.transactions, case.context, choose_payload=lambda _: case.payload
    )
    assert built.made is not None
    assert built.made.block.raw == case.container


@pytest.mark.parametrize("values", CASES)
def test_the_specification_accepts_each_block_on_the_debited_state(values: dict[str, Any]) -> None:
    _transition(values, debited=True)


@pytest.mark.parametrize("values", CASES)
def test_without_the_debits_it_accepts_exactly_the_blocks_without_exports(
    values: dict[str, Any],
) -> None:
    if values["acceptedWithoutDebits"]:
        _transition(values, debited=False)
        return
    with pytest.raises(SpecificationRefuses):
        _transition(values, debited=False)


def _transition(values: dict[str, Any], *, debited: bool) -> None:
    """Apply a block by the specification's `state_transition`."""
    fork = values["fork"]
    specification, module, kinds = (
        load_fork(fork),
        fork_module(fork, "state"),
        fork_module(fork, "blocks"),
    )
    state = module.State()
    for text, account in values["before"].items():
        taken = [one for one in values["debits"] if one["address"] == text] if debited else []
        nonce = account["nonce"] + len(taken)
        balance = int(account["balance"]) - sum(int(one["amount"]) for one in taken)
        value = specification.types.Account(
            Uint(nonce), U256(balance), bytes.fromhex(account["code"])
        )
        module.set_account(state, Bytes20(decode_address(text)), value)
    parent = kinds.Block(
        header=rlp.decode_to(kinds.Header, decode_data(values["parentHeader"])),
        transactions=(),
        ommers=(),
        withdrawals=(),
    )
    block = rlp.decode_to(kinds.Block, decode_data(values["ethereumBlock"]))
    chain = specification.fork.BlockChain(
        blocks=[parent], state=state, chain_id=U64(values["chainId"])
    )
    with recursion_for_nested_calls():
        specification.fork.state_transition(chain, block)


@pytest.mark.parametrize("values", WITH_PAYLOAD)
def test_changed_container_is_refused_and_the_original_accepted_later(
    values: dict[str, Any],
) -> None:
    case = Case(values, "reference")
    right = case.parsed()
    header = encode_data(case.wanted.raw)
    assert header == values["header"]
    envelopes = [tx.raw for tx in case.transactions]
    assert right.payload is not None
    txs = split_payload(right.payload)
    changed = encode_block(case.wanted, envelopes, (), right.withdrawals, right.payload + b"\0")
    stripped = encode_block(case.wanted, envelopes)
    refused = {stripped: BlockReason.EXTRA_DATA_TOO_LONG, changed: BlockReason.OTHER_PAYLOAD}
    if len(txs) > 1:
        other = join_payload(txs[::-1])
        reordered = encode_block(case.wanted, envelopes, (), right.withdrawals, other)
        refused[reordered] = BlockReason.OTHER_PAYLOAD
    if right.withdrawals:
        for withdrawals in (
            right.withdrawals[:-1],
            (*right.withdrawals, right.withdrawals[-1]),
            (replace(right.withdrawals[0], amount=1), *right.withdrawals[1:]),
        ):
            other_body = encode_block(case.wanted, envelopes, (), withdrawals, right.payload)
            refused[other_body] = BlockReason.OTHER_WITHDRAWALS
    for raw, reason in refused.items():
        candidate = case.parsed(raw)
        assert candidate.hash == right.hash
        with raises(reason, kind=BlockRefused):
            case.verify(candidate)
        assert ID(right.hash) not in case.blocks
    case.verify(right)
    assert case.made().raw == case.container


@pytest.mark.parametrize("values", WITH_IMPORTS)
def test_an_import_waits_for_the_export_unless_the_network_has_decided(
    values: dict[str, Any],
) -> None:
    case = Case(values, "reference")
    exported = dict(case.known)
    case.known.clear()
    with pytest.raises(ImportedTooEarly):
        case.verify(case.parsed())
    case.verify(case.parsed(), decided=True)
    again = Case(values, "reference")
    again.known = exported
    again.verify(again.parsed())


@pytest.mark.parametrize("values", WITH_IMPORTS)
def test_signatures_are_checked_in_a_decided_block_if_the_outputs_are_here(
    values: dict[str, Any],
) -> None:
    case = Case(values, "reference")
    nobody = OutputOwners(0, 1, (ShortID(bytes(20)),))
    for key, utxo in case.known.items():
        assert isinstance(utxo.output, TransferOutput)
        case.known[key] = replace(utxo, output=replace(utxo.output, owners=nobody))
    with raises(BlockReason.PAYLOAD_REFUSED, kind=BlockRefused):
        case.verify(case.parsed(), decided=True)


def test_32_bytes_of_extra_data_without_a_payload_are_refused() -> None:
    (values,) = next(param.values for param in CASES if not param.values[0]["payload"])
    case = Case(values, "reference")
    header = replace(case.wanted, extra_data=bytes(32))
    candidate = case.parsed(encode_block(header, [tx.raw for tx in case.transactions]))
    with raises(BlockReason.EXTRA_DATA_TOO_LONG, kind=BlockRefused):
        case.verify(candidate)
