"""Chains for measurements and trials, written by the chains' own rules in one process, faster than by a node."""
