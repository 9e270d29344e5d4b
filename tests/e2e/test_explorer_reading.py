"""Live pages in a real browser keep open elements, the scroll position and the focus when they refresh."""

import json

from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import node_script


def test_scroll_and_focus_survive_live_updates(fresh: CheckedNode) -> None:
    given = {
        "base": f"http://127.0.0.1:{fresh.port}",
        "password": (fresh.directory / "data" / "admin_password").read_text().strip(),
    }
    front = node_script("run.mjs", "explorer", "keepsReading", json.dumps(given))
    admin = node_script("run.mjs", "admin", "keepsReading", json.dumps(given))

    assert front["faults"] == admin["faults"] == []
    assert front["wide"] == 0
    for drawn, focus in ((front["link"], "/p/txs"), (front["summary"], "summary")):
        before, after = drawn["scrolls"]
        assert before == after
        assert max(after) == 40
        assert drawn["open"]
        assert drawn["focus"] == focus
    assert front["asked"] == 1, "while text is selected nothing is drawn anew"
    before, after = admin["scrolls"]
    assert before == after
    assert admin["focus"] == "/admin/production/pause/"
