"""What the graph alone does not show: whose hook, whose Function, which operand came from inference_mode."""


def tell(finding):
    """Add the lines and facts that the kind of the error asks for."""
