"""Decides what happens next: events and the time come in, actions go out, nothing else."""
