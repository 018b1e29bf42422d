"""Five-module reconstruction of a seed -> scenario with references, requirements and a consistency check."""
