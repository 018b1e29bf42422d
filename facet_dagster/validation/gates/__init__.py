"""One module per gate of the quality page; which of them are run, and in what order, stands in validate.py."""
