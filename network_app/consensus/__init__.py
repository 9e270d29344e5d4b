"""Snowman on the event loop: one chain's engine among threads, connections and clocks (snowman.md 8 to 11).

Begin with `runner`, which is told of all that concerns a chain and drives its engine one step at a time.
`vm`, `sender` and `validators` are what the engine asks for (`network_app.snowman.ports`); `queue` is what
waits for its turn, `building` says when this node builds, `figures` and `report` what is shown of it.
asyncio without Django.
"""
