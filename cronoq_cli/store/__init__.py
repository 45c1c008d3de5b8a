"""What outlives the daemon: tasks, attempts and environments in SQLite, and a twin in memory."""
