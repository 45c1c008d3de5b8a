"""Values and rules about values: no clock, no file, no process."""
