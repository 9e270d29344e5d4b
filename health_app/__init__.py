"""How the node is: six checks that run in the background, their history, and the probes.

`rules` say what is healthy and in which words it is not, `checks` measure, `reporter` runs them and
remembers the results, `services` write each change down. What is asked of it answers from memory, so
that it answers while the database is away; `api` is the door at `/ext/health`.
"""
