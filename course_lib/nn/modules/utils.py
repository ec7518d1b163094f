"""torch.nn.modules.utils: a helper on state dicts.

PyTorch: torch/nn/modules/utils.py.
"""


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Take a prefix such as "module." off the names in a state dict, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)
