"""How the processes of a node learn of new blocks and stay at one head."""
