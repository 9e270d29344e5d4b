"""JSON-RPC 2.0 for every interface of the node: bytes in, bytes out. It knows no chain.

Suggested reading order: `envelope` (requests), `registry` and `params` (methods), `dialects` (two families of servers:
`geth`, `gorilla`), `dispatch` (from a body to its answer), then the transports: `gate` and `http` (shared by HTTP),
`asgi`, `direct`, and `hub`, `session`, `websocket`.
"""
