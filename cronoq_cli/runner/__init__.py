"""The small process that starts, signals and reaps tasks and outlives the daemon. Standard library only."""
