"""`ledger`: the bytes that saved tensors hold, over time."""
