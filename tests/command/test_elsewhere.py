"""Errors of threads and of other processes: explained where they can be seen, with what the text alone says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

THREAD = """import threading
import torch
def work():
    w = torch.nn.Parameter(torch.ones(3))
    y = (w * w).sum()
    with torch.no_grad():
        w.add_(1)
    y.backward()
thread = threading.Thread(target=work)
thread.start()
thread.join()
print("the end")
"""
SPAWN = """import torch
import torch.multiprocessing as mp
def train(rank):
    y = torch.ones(2, requires_grad=True).exp()
    y += 1
    y.sum().backward()
if __name__ == "__main__":
    mp.spawn(train, nprocs=1)
"""
WORKER = """import torch
from torch.utils.data import DataLoader
net = torch.nn.Linear(2, 2)
class Data(list):
    def __getitem__(self, at):
        return net(torch.ones(2)).numpy()
if __name__ == "__main__":
    next(iter(DataLoader(Data([1, 2]), num_workers=1)))
"""
CASES = {  # script -> (exit status, what is said, the first edit's new line)
    "thread": (
        THREAD, 0,
        ("saved   script.py:5 in work", "changed script.py:7 in work", "failed  script.py:8 in work", "parameter `w`"),
    ),
    "spawn": (
        SPAWN, 1,
        ("saved   script.py:4", "changed script.py:5", "failed  script.py:6 in train", "in another process",
         "passed  script.py:8", "was not recorded", "+    y = y + 1"),
    ),
    "worker": (
        WORKER, 1,
        ("failed  script.py:6", "passed  script.py:8", "+        return net(torch.ones(2)).detach().cpu().numpy()"),
    ),
}  # fmt: skip


@pytest.mark.check
@pytest.mark.parametrize("name", CASES)
def test_what_happened_elsewhere_is_explained(real_torch, tmp_path, name):
    """The status is the script's; the traceback begins in its own file; lines and the edit stand below."""
    source, status, said = CASES[name]
    (tmp_path / "script.py").write_text(source)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent.parent), "OMP_NUM_THREADS": "1"}
    call = [sys.executable, "-m", "backscope", "script.py"]
    done = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240)

    assert done.returncode == status, done.stderr
    for words in said:
        assert words in done.stderr
    if name == "thread":
        assert done.stdout == "the end\n" and "backscope/script" not in done.stderr
