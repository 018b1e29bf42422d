#!/bin/bash
# Grades the final state of the container. Run as root, needs no network. Writes /logs/verifier/results.json and, only
# where the tests could be run to a verdict, /logs/verifier/reward.json; trouble leaves no reward behind.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
exec python3 -I /tests/grade.py
