"""The rules of EVM chains of subnets, as ava-labs' subnet-evm has them (etna.md 12): genesis, header, fees.

Pure. Precompiles are read and verified here; whether a chain can execute them is decided where it starts.
"""
