"""When changes become visible: each node at once, each node after its tests, or the whole run as one snapshot after its tests.

`session/staged_run.py` and `session/staged_nodes.py` keep the staged changes. `connections.py` stages and publishes them, and the macro
`ducklake_publish_run` and the materialization `test` tell it when.
"""
