"""The trace_ methods of Parity and the methods of Otterscan."""
