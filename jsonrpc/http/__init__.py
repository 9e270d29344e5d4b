"""JSON-RPC over HTTP: requests in, replies out."""
