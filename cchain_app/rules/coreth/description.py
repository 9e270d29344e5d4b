"""The fields that only coreth's headers have, with their meanings, for rows and pages."""

from typing import NamedTuple

from cchain_app.blocks.header import Header
from cchain_app.rules.coreth.gas_state import GasState
from cchain_app.rules.coreth.header import CorethHeader
from cchain_app.rules.coreth.min_delay import delay_of
from cchain_app.rules.coreth.phases import CorethPhase, phase_at
from primitives.evm import Hash
from primitives.upgrades import UpgradeTimes


class CorethFields(NamedTuple):
    """The fields of a header; None: its block is of an older phase."""

    ext_data_hash: Hash
    ext_data_gas_used: int | None
    block_gas_cost: int | None
    time_milliseconds: int | None
    min_delay_excess: int | None
    min_delay: int | None
    """Least time to the next block, in milliseconds."""
    gas_state: GasState | None
    """The gas state after the block."""


def fields_of(header: Header, upgrades: UpgradeTimes | None) -> CorethFields | None:
    """Return the fields of a header of coreth; None for another one. Block 0 has no gas state.

    Args:
        header: The header.
        upgrades: The network's upgrades; None: the chain has other rules.
    """
    if upgrades is None or not isinstance(header, CorethHeader):
        return None
    phase = phase_at(upgrades, header.timestamp)
    has_state = header.number > 0 and CorethPhase.FORTUNA <= phase < CorethPhase.HELICON
    excess = header.min_delay_excess
    return CorethFields(
        header.ext_data_hash,
        header.ext_data_gas_used,
        header.block_gas_cost,
        header.time_milliseconds,
        excess,
        None if excess is None else delay_of(excess),
        GasState.read(header.extra_data) if has_state else None,
    )


def described(header: Header, upgrades: UpgradeTimes | None) -> list[tuple[str, str]]:
    """Return names and values for pages; nothing for another header than coreth's. Arguments as for `fields_of`."""
    fields = fields_of(header, upgrades)
    if fields is None:
        return []
    shown = [("Hash of the atomic transactions", "0x" + fields.ext_data_hash.hex())]
    if fields.ext_data_gas_used is not None:
        shown.append(("Gas of the atomic transactions", f"{fields.ext_data_gas_used:,}"))
    if fields.block_gas_cost:
        shown.append(("Gas that the tips had to buy", f"{fields.block_gas_cost:,}"))
    state = fields.gas_state
    if state is not None:
        shown += [
            ("Gas target", f"{state.target:,} per second"),
            ("Target excess", f"{state.target_excess:,}"),
            ("Gas left for the next block", f"{state.capacity:,} of {state.max_capacity:,}"),
            ("Gas above the target", f"{state.excess:,}"),
        ]
    if fields.time_milliseconds is not None:
        shown.append(("Time in milliseconds", f"{fields.time_milliseconds}"))
    if fields.min_delay is not None:
        shown.append(("Time to the next block", f"{fields.min_delay:,} ms at least"))
        shown.append(("Minimum delay excess", f"{fields.min_delay_excess:,}"))
    return shown
