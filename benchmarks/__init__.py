"""Measures this node beside its peers: same load, same workload, one server at a time."""
