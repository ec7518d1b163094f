"""`digits`: 1,797 handwritten digits as tensors. Where they come from, and their licence, stands in digits.txt."""

import functools
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("digits.npz")


def digits(torch) -> tuple:
    """Return (images, labels) as tensors of `torch`: float32 (1797, 8, 8) from 0 to 1, int64 (1797,).

    Both are new at every call, so that nobody finds what another has written into them.
    """
    images, labels = arrays()
    return torch.from_numpy(images.astype(np.float32) / 16), torch.from_numpy(labels.astype(np.int64))


@functools.cache
def arrays() -> tuple:
    """Read the file: images from 0 to 16, and labels."""
    with np.load(FILE) as held:
        return held["images"], held["labels"]
