"""Chains for measurements and trials, written by their own rules in one process, faster than a node does it."""
