"""Pictures of graphs: `draw` and `compare`, what they show, and how it is laid out."""
