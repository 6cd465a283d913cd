"""``python -m unipac``: the command line."""

from unipac.cli.main import main

if __name__ == "__main__":
    main()
