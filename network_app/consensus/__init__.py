"""Snowman on the event loop: connects a chain's engine to threads, peers and clocks (snowman.md 8 to 11).

Begin with `runner`, which receives every event that concerns a chain and drives its engine one step at
a time. `vm`, `sender` and `validators` implement the ports of the engine (`network_app.snowman.ports`).
`questions` holds the pending work, `building` schedules block building, `figures` and `report` provide the
statistics. The package uses asyncio, not Django.
"""
