"""The lifetime of an obstacle that stops a chain."""

from network_app.sync.last_accepted import Obstacle


def test_obstacle_lapses_without_renewal() -> None:
    now = [0.0]
    obstacle = Obstacle("C", lambda: now[0])
    obstacle.stands("a block is refused", 7)
    now[0] = 299.0
    obstacle.lapse(300.0)
    assert obstacle.words == "a block is refused"
    obstacle.named()
    now[0] = 598.0
    obstacle.lapse(300.0)
    assert obstacle.words == "a block is refused"
    now[0] = 599.0
    obstacle.lapse(300.0)
    assert obstacle.words is None
