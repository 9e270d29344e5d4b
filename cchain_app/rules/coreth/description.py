"""The fields that only coreth's headers have, with their meanings, for pages."""

from cchain_app.blocks.header import Header
from cchain_app.rules.coreth.gas_state import STATE_SIZE, GasState
from cchain_app.rules.coreth.header import CorethHeader
from cchain_app.rules.coreth.min_delay import delay_of


def described(header: Header) -> list[tuple[str, str]]:
    """Return names and values; nothing for a header of Ethereum. Block 0 has no gas state."""
    if not isinstance(header, CorethHeader):
        return []
    shown = [("Hash of the atomic transactions", "0x" + header.ext_data_hash.hex())]
    if header.ext_data_gas_used is not None:
        shown.append(("Gas of the atomic transactions", f"{header.ext_data_gas_used:,}"))
    if header.number and len(header.extra_data) >= STATE_SIZE:
        state = GasState.read(header.extra_data)
        shown += [
            ("Gas target", f"{state.target:,} per second"),
            ("Gas left for the next block", f"{state.capacity:,} of {state.max_capacity:,}"),
        ]
    if header.time_milliseconds is not None:
        shown.append(("Time in milliseconds", f"{header.time_milliseconds}"))
    if header.min_delay_excess is not None:
        delay = delay_of(header.min_delay_excess)
        shown.append(("Time to the next block", f"{delay:,} ms at least"))
    return shown
