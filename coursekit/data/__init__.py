"""Data that lessons train on: small, real, and shipped with the course. Each has its source beside it."""
