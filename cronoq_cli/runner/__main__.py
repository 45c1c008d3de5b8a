"""`python -m cronoq_cli.runner`: started by the daemon, never by hand."""

from __future__ import annotations

import sys

from cronoq_cli.runner.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
