"""What client, daemon and runner say to each other, and how it is framed."""
