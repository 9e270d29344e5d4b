"""JSON-RPC over WebSocket: sessions, subscriptions and what is sent to them."""
