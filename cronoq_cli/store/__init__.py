"""The store: the contract the daemon uses, and its two implementations, SQLite and memory."""
