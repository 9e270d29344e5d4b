"""The rules of EVM chains of subnets, as ava-labs' subnet-evm has them (etna.md 12): genesis, header, fees, precompiles in force.

Pure. Whether a chain with the precompiles of its genesis can run here is decided where it starts.
"""
