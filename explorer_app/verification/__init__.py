"""Verification that sources belong to a contract: submissions, compilers' input and output, bytecode comparison. Pure.

Running the compilers (`services.compiling`) and storing results are elsewhere. Rules: explorer.md 5, 6, 7 and 10.
"""
