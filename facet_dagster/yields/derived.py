"""Views over the views of the tables: what several questions mean by the same word. SQL only; opened in views.py."""

# By name, each after those it reads.
DERIVED = {
    # From when on a person made components of a seed: its sequence, and its round.
    "by_hand": """
        SELECT seed, min(sequence) AS began, min(round) AS round
        FROM components
        WHERE origin = 'by-hand'
        GROUP BY seed
    """,
    # How seeds stand. `first_pass`, `rounds` and `unaided` (a status) are of what came before anybody made a component
    # by hand, and empty where nothing did.
    "endings": """
        SELECT
            seed,
            arg_max(status, "at") AS status,
            arg_max(first_pass, "at") FILTER (WHERE began IS NULL OR sequence < began) AS first_pass,
            arg_max(rounds, "at") FILTER (WHERE began IS NULL OR sequence < began) AS rounds,
            arg_max(status, "at") FILTER (WHERE began IS NULL OR sequence < began) AS unaided
        FROM outcomes
        LEFT JOIN by_hand USING (seed)
        GROUP BY seed
    """,
}
