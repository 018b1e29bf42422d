"""Instruction -> solution (executed: eT) -> verifier, written from the state that the container really has."""
