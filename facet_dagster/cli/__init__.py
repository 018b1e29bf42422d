"""The command `facet`."""
