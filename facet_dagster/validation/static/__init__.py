"""What can be told of a task by reading it (G0): one module per part, each yielding findings with file and line.

Doubt is no finding: what runs is decided by running it.
"""
