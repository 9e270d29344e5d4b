"""The node itself: who it is, what it runs, whom it is connected to, how far its chains are.

Has no rows: it looks down at the chains and the network. `selectors` asks them, `identity`, `commit` and
`version` say what this node is, `api` is the door at `/ext/info`.
"""
