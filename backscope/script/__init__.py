"""The instruments on a script of your own: which lines saved, changed and failed, on real PyTorch."""
