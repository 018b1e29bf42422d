"""Where skills come from: folder trees, git checkouts, dumps and archives, all as the same stream of entries."""
