"""Strict Jinja prompts, one file each, and the one way to ask a model for a structured answer."""
