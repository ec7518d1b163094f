"""Sequences of different lengths in one tensor. (Packed sequences are left out: mask what is padding.)

PyTorch: torch/nn/utils/rnn.py.
"""

from collections.abc import Iterable

from course_lib.native import creation
from course_lib.native.arguments import type_name
from course_lib.tensor import Tensor


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """The sequences side by side, in the type of the first; what they lack in length is filled up.

    (length, batch, ...), or with batch_first (batch, length, ...). Gradients lead back to each sequence.
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    for place, sequence in enumerate(sequences):
        if not isinstance(sequence, Tensor):
            raise TypeError(f"expected Tensor as element {place} in argument 0, but got {type_name(sequence)}")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest, first = max(len(sequence) for sequence in sequences), sequences[0]
    sizes = (len(sequences), longest) if batch_first else (longest, len(sequences))
    padded = creation.zeros((*sizes, *first.shape[1:]), dtype=first.dtype).fill_(padding_value)
    for place, sequence in enumerate(sequences):
        start = longest - len(sequence) if padding_side == "left" else 0
        line = padded.select(0 if batch_first else 1, place).narrow(0, start, len(sequence))
        line.copy_(sequence)
    return padded


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences that were padded on the right, each as long as it was."""
    lines = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [line[: int(length)] for line, length in zip(lines, lengths, strict=True)]
