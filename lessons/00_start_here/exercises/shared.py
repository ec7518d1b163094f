"""Helpers that several exercises of lesson 00 share."""

def node_name(node):
    """The name a node's class carries, the same in both engines."""
    return type(node).__name__
