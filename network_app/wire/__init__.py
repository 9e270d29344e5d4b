"""The peers' messages as values, and their bytes on the wire (p2p.md 2 and 3). Pure.

`p2p_pb2`, `sdk_pb2` and the like are made out of the .proto files by scripts/compile_protocol.sh.
What a message means, and whether it may come now, is the business of the rooms above.
"""
