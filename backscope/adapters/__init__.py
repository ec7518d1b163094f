"""What only one library can tell: an adapter for each."""
