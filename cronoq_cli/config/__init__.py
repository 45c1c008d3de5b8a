"""Where cronoq's files are, and what the configuration file says."""
