"""`python -m cronoq_cli.daemon`: how the client's launch and `daemon run` start the daemon's process."""

import sys

from cronoq_cli.daemon.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
