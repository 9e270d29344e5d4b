"""Calls the roll: where several take turns in making blocks each asks all others now and then.

So it is known who hears whom, and who has a block that is missing here (`roll`, `turns`).
"""

import asyncio
from functools import partial

from network_app.sync.choosing import Choice
from network_app.sync.following import Follower
from network_app.sync.head import Head
from network_app.sync.messages import Answer
from network_app.sync.polling import question
from network_app.sync.requests import Requests
from network_app.sync.roll import Call, Roll
from network_app.wire.p2p_pb2 import Chits
from primitives.ids import NodeID

PERIOD = 1.0
"""Seconds between the questions to each of the others."""


class Caller:
    """The roll calls of one chain."""

    def __init__(
        self, head: Head, follower: Follower, requests: Requests, choice: Choice, roll: Roll
    ) -> None:
        self._head = head
        self._follower = follower
        self._requests = requests
        self._choice = choice
        self._roll = roll

    async def run(self) -> None:
        """Call until cancelled."""
        while True:
            if self._head.following and self._head.takes_turns(self._choice.own):
                self._call()
            await asyncio.sleep(PERIOD)

    def _call(self) -> None:
        others = self._head.producers.intersection(self._choice.connected())
        call = self._roll.call(others)
        for node_id in others:
            answered = partial(self._answered, node_id, call)
            # Patient: whoever answers late is there, and says what counts.
            self._requests.post(
                node_id, question(self._head), Chits, answered, counts=False, patient=True
            )

    def _answered(self, node_id: NodeID, call: Call, answer: Answer | None) -> None:
        if not isinstance(answer, Chits):
            return
        self._roll.answered(
            node_id, call, theirs=answer.accepted_height, ours=self._head.place.height
        )
        self._follower.heard(node_id, answer)
