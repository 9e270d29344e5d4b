"""Measures this node and its peers with the same load and workloads, one server at a time."""
