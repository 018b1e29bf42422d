"""Manifest -> materials and Dockerfile -> build, probe and repair -> observed state e0."""
