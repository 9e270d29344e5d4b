"""JSON-RPC over WebSocket: sessions, subscriptions and their messages."""
