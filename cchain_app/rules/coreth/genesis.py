"""Block 0 of coreth, from the network's genesis file and upgrade times (coreth.md 1)."""

from dataclasses import replace
from typing import Any, Final

from cchain_app.config import BlobParameters, ForkSchedule
from cchain_app.evm.coreth import stored_slot
from cchain_app.genesis import Genesis
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.precompiles.addresses import PrecompileKey
from cchain_app.precompiles.schedule import PrecompileConfig, PrecompileSchedule
from cchain_app.rules.coreth.header import CorethHeader
from cchain_app.rules.coreth.min_delay import FIRST_EXCESS
from cchain_app.rules.coreth.window import FIRST_BASE_FEE
from chainvm.port import MILLISECONDS
from primitives.evm import ZERO_HASH, Hash
from primitives.hashing import EMPTY_ROOT
from primitives.upgrades import ACTIVE, NEVER, UpgradeTimes

_FIRST_FORKS: Final = (
    "homesteadBlock", "daoForkBlock", "eip150Block", "eip155Block", "eip158Block", "byzantiumBlock",
    "constantinopleBlock", "petersburgBlock", "istanbulBlock", "muirGlacierBlock",
)  # fmt: skip
_TIMESTAMPS: Final = {
    "apricot_phase1": "apricotPhase1BlockTimestamp",
    "apricot_phase2": "apricotPhase2BlockTimestamp",
    "apricot_phase3": "apricotPhase3BlockTimestamp",
    "apricot_phase4": "apricotPhase4BlockTimestamp",
    "apricot_phase5": "apricotPhase5BlockTimestamp",
    "apricot_phase_pre6": "apricotPhasePre6BlockTimestamp",
    "apricot_phase6": "apricotPhase6BlockTimestamp",
    "apricot_phase_post6": "apricotPhasePost6BlockTimestamp",
    "banff": "banffBlockTimestamp",
    "cortina": "cortinaBlockTimestamp",
    "durango": "durangoBlockTimestamp",
    "etna": "etnaTimestamp",
    "fortuna": "fortunaTimestamp",
    "granite": "graniteTimestamp",
    "helicon": "heliconTimestamp",
}
"""The reference's names of the upgrades, of which the older ones end in `BlockTimestamp`."""
_BLOBS: Final = {"cancun": BlobParameters(3, 6, 3_338_477)}
"""Only for the price of blob gas, which is always 1: there are no blobs."""
_BERLIN_AND_LONDON: Final = {
    43_113: (184_985, 805_078),
    43_114: (1_640_340, 3_308_552),
    43_110: (3, 5),
}
"""The first blocks of these forks by chain ID: of fuji, of mainnet, and of the reference's test chain. On others both are 0."""


def _berlin_and_london(chain_id: int, upgrades: UpgradeTimes) -> tuple[int, int]:
    """Return the first blocks of Berlin and London.

    Raises:
        GenesisFileError: They follow from upgrades that begin later, which no network can have.
    """
    known = _BERLIN_AND_LONDON.get(chain_id)
    if known is not None:
        return known
    for name, time in (("AP2", upgrades.apricot_phase2), ("AP3", upgrades.apricot_phase3)):
        if time > ACTIVE:
            raise GenesisFileError(
                f"invalid upgrade time: {name} must be either unscheduled or initially activated"
            )
    return 0, 0


def with_upgrades(genesis: Genesis, upgrades: UpgradeTimes) -> Genesis:
    """Return a genesis with coreth's rules, which follow from the network's upgrades and not from the file.

    If warp messages are active from the start, their precompiled contract is part of the first state.

    Raises:
        GenesisFileError: No network can have these upgrades.
    """
    berlin, london = _berlin_and_london(genesis.config.chain_id, upgrades)
    begun = dict.fromkeys(
        (
            "homestead", "tangerine_whistle", "spurious_dragon", "byzantium", "constantinople",
            "istanbul",
        ),
        0,
    )  # fmt: skip
    times = {"shanghai": upgrades.durango, "cancun": upgrades.etna}
    schedule = ForkSchedule(
        blocks={**begun, "berlin": berlin, "london": london},
        times={name: time for name, time in times.items() if time < NEVER},
    )
    alloc = {
        address: account._replace(
            storage={stored_slot(slot): word for slot, word in account.storage.items()}
        )
        for address, account in genesis.alloc.items()
    }
    base_fee = None
    if upgrades.apricot_phase3 <= genesis.timestamp:
        base_fee = genesis.stated_base_fee or FIRST_BASE_FEE
    config = replace(
        genesis.config,
        schedule=schedule,
        blobs=_BLOBS,
        min_base_fee=0,
        blob_transactions=False,
        stateful=_warp(upgrades),
    )
    return replace(genesis, config=config, alloc=alloc, base_fee=base_fee, upgrades=upgrades)


def chain_config(chain_id: int, upgrades: UpgradeTimes) -> dict[str, Any]:
    """Return the config that coreth derives for a network, as eth_getChainConfig answers it."""
    berlin, london = _berlin_and_london(chain_id, upgrades)
    blocks = dict.fromkeys(_FIRST_FORKS, 0) | {"berlinBlock": berlin, "londonBlock": london}
    times = {key: getattr(upgrades, name) for name, key in _TIMESTAMPS.items()}
    ethereum = {"shanghaiTime": upgrades.durango, "cancunTime": upgrades.etna}
    return {"chainId": chain_id, "daoForkSupport": True, **blocks, **times, **ethereum}


def _warp(upgrades: UpgradeTimes) -> PrecompileSchedule:
    """Return the only stateful precompile that begins at a time and not with a block's own rules."""
    begin = PrecompileConfig(PrecompileKey.WARP, upgrades.durango)
    return PrecompileSchedule((begin,), granite=upgrades.granite)


def genesis_header(genesis: Genesis, state_root: Hash) -> CorethHeader:
    """Return the header of block 0, with the fields of the upgrades that are active at its time."""
    upgrades, time = genesis.upgrades, genesis.timestamp
    assert upgrades is not None, "the genesis is coreth's"
    fields: dict[str, Any] = {}
    if upgrades.etna <= time:
        fields |= {
            "ext_data_gas_used": 0,
            "block_gas_cost": 0,
            "blob_gas_used": 0,
            "excess_blob_gas": 0,
            "parent_beacon_block_root": ZERO_HASH,
        }
    if upgrades.granite <= time:
        fields |= {"time_milliseconds": time * MILLISECONDS, "min_delay_excess": FIRST_EXCESS}
    return CorethHeader(
        parent_hash=genesis.parent_hash,
        coinbase=genesis.coinbase,
        state_root=state_root,
        transactions_root=EMPTY_ROOT,
        receipts_root=EMPTY_ROOT,
        logs_bloom=bytes(256),
        difficulty=genesis.difficulty,
        number=genesis.number,
        gas_limit=genesis.gas_limit,
        gas_used=genesis.gas_used,
        timestamp=time,
        extra_data=genesis.extra_data,
        mix_hash=genesis.mix_hash,
        nonce=genesis.nonce,
        base_fee=genesis.base_fee,
        **fields,
    )
