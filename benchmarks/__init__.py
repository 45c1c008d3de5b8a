"""Programs that measure cronoq side by side with its peers: `python -m benchmarks`."""
