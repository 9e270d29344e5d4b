"""The formats of traces: they convert an engine's recording to the JSON that tools read. Pure."""
