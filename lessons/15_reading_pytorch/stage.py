"""The stage of lesson 15: the bytes that attention saves, by hand and by PyTorch's kernel."""

import re

from backscope import ledger
from coursekit import chart
from coursekit.records import records

TIMES = 16, 64, 256, 1024


def curves(torch, by_hand):
    """A chart: what `by_hand` saves, measured here, beside what PyTorch's kernel saves, from the record."""
    kernel = re.findall(r"(\d+) places: .*?([\d,]+) bytes by the kernel", records()["attention, two ways"])
    lines = {
        "by hand": {time: saved(torch, by_hand, time) for time in TIMES},
        "by the kernel (record)": {int(time): int(size.replace(",", "")) for time, size in kernel},
    }
    return chart({"saved by attention": lines}, across="places in the text", up="bytes", log=True)


def saved(torch, attention, time):
    """The bytes that nodes of `attention` hold, for a text of this length."""
    q, k, v = [torch.ones(1, 2, time, 4, requires_grad=True) * 1 for _ in range(3)]
    with ledger(leaves=False) as held:
        attention(q, k, v)
    return held.peak
