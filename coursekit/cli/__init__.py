"""The command line of the course. Until .venv is there nothing but the standard library is imported here."""
