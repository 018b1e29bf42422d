"""Models scored on any folder of Harbor tasks: k attempts each, graded, with intervals and paired comparisons."""
