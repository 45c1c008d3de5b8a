"""Replies as text, tables and JSON."""
