"""A terminal agent over tmux: trial, grading, trajectory (ATIF)."""
