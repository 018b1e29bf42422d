"""Shipped fakes of every port, honest enough to pass the contract tests."""
