"""The dashboard of `cronoq top`: what is shown (pure models), the panels that draw it, and the feed from the daemon."""
