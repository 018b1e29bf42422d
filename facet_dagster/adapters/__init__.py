"""The real outside world behind ports.py."""
