"""The validator manager contract that this node gives to new L1s: source, compiled code, calls. No framework."""
