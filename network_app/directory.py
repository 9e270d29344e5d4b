"""The validators as the connections ask for them: in memory, read anew now and then."""

from collections.abc import Mapping

from chaindb import clock
from network_app.ports import ValidatorFacts
from platform_app.apps import platform_chain
from platform_app.selectors import stakers
from platform_app.services import uptime
from primitives.ids import PRIMARY_NETWORK_ID, NodeID


class ValidatorDirectory:
    """`ports.Directory` over the P-Chain's rows."""

    def __init__(self) -> None:
        self._validators: Mapping[NodeID, ValidatorFacts] = {}
        self._uptimes: Mapping[NodeID, int] = {}

    def read(self) -> None:
        """Read who validates and for how long they were seen. Blocking: for a thread."""
        now = clock.now()
        present = stakers.current_validators(platform_chain(), PRIMARY_NETWORK_ID)
        self._validators = {
            one.node_id: ValidatorFacts(
                one.weight + one.delegator_weight,
                one.public_key,
            )
            for one in present.validators
        }
        tracking = uptime.tracking(platform_chain())
        self._uptimes = {
            node_id: int(100 * seen.fraction(now, tracking=tracking))
            for node_id, seen in stakers.uptimes(platform_chain()).items()
        }

    def validators(self) -> Mapping[NodeID, ValidatorFacts]:
        """Return the current validators of the Primary Network."""
        return self._validators

    def uptime_of(self, node_id: NodeID) -> int:
        """Return what a peer is told of its uptime: percent, 0 to 100."""
        return self._uptimes.get(node_id, 0)
