"""What the daemon does for each family of verbs: request in, reply out."""
