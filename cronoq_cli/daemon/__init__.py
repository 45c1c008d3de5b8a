"""The background process that owns engine, store and socket."""
