"""Instruments: `step` through a backward pass, `watch` every operation, `ledger` of bytes held."""
