"""The content: a folder a lesson, with the source of its notebook, its claims, and its exercises."""
