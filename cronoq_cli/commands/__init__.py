"""Words to requests and replies to words: the command line and its rendering, without I/O."""
