"""The log files of attempts: names, tails, caps."""
