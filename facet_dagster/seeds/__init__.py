"""Scenario hypotheses per skill, embedding, retrieval, judge -> scenario seeds."""
