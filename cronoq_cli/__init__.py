"""cronoq: queues, schedules and repeats shell commands for one user on one machine."""

__version__ = "0.1.0"
