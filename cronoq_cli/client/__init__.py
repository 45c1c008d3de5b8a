"""The full client: what needs the caller's terminal, streams, or answers without a daemon."""
