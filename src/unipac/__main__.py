"""``python -m unipac``: the command line."""

from unipac._command import main

if __name__ == "__main__":
    main()
