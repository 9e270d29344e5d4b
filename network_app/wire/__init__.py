"""Messages between peers, and their encoding (p2p.md 2 and 3). Pure.

scripts/compile_protocol.sh generates `p2p_pb2`, `sdk_pb2` and `node_pb2` from the .proto files. The layers
above interpret the messages and decide whether a message may be sent at this time.
"""
