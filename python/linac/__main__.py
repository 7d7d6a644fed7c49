"""`python -m linac VERB ...` is the program `linac VERB ...`."""

import os
import sys

from linac._program import LinacError, program


def main() -> None:
    try:
        path = str(program())
        os.execv(path, [path, *sys.argv[1:]])
    except LinacError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_status)


if __name__ == "__main__":
    main()
