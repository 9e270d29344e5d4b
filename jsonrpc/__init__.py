"""JSON-RPC 2.0, once, for every interface of the node: bytes in, bytes out. Knows no chain.

Read in this order: `envelope` (what a request is), `registry` and `params` (what a method is),
`dialects` (two families of servers: `geth`, `gorilla`), `dispatch` (body to answer), then the doors:
`gate` and `http` (what both HTTP doors share), `asgi`, `ninja_door`, and `hub`, `websocket`.
"""
