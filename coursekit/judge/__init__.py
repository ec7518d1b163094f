"""Practice: exercises and their judge, cells that must raise, progress, and the proof of all recorded answers."""
