"""`python -m dard COMMAND`, and `dard COMMAND` where it is installed."""

import sys

from dard.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
