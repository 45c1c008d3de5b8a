"""The file installed as the command `cronoq`: the hot client path on builtins alone. Nothing imports it."""
