-- How much is left after every station: skills read, valid, seeds, environments built, accepted, rollouts, successes.
-- percent_of_previous is empty where the unit changes (skills -> seeds -> trials), and at the first step.
WITH ended AS (
    SELECT seed, arg_max(first_pass, "at") AS first_pass, arg_max(status, "at") = 'accepted' AS accepted
    FROM outcomes
    GROUP BY seed
),
folders AS (
    SELECT arg_max(state, ingest) AS state FROM skill_log GROUP BY collection, source, path
),
steps AS (
    SELECT 1 AS step, 'skills read' AS station, (SELECT count(*) FROM folders WHERE state <> 'removed') AS n
    UNION ALL SELECT 2, 'valid skills', (SELECT count(*) FROM folders WHERE state = 'kept')
    UNION ALL SELECT 3, 'seeds', (SELECT count(*) FROM seeds)
    UNION ALL SELECT 4, 'environments built', (
        SELECT count(DISTINCT seed) FROM components
        WHERE component = 'environment' AND json_extract_string(record, '$.body.kind') = 'environment'
    )
    UNION ALL SELECT 5, 'first-pass valid', (SELECT count(*) FROM ended WHERE first_pass)
    UNION ALL SELECT 6, 'accepted', (SELECT count(*) FROM ended WHERE accepted)
    UNION ALL SELECT 7, 'rollouts', (SELECT count(*) FROM trials)
    UNION ALL SELECT 8, 'successes', (SELECT count(*) FROM trials WHERE reward = 1.0)
)
SELECT
    station,
    n AS count,
    -- accepted counts against environments built, as first-pass valid does: it contains it.
    CASE
        WHEN step IN (1, 3, 7) THEN NULL
        WHEN step = 6 THEN round(100.0 * n / nullif(lag(n, 2) OVER (ORDER BY step), 0), 1)
        ELSE round(100.0 * n / nullif(lag(n) OVER (ORDER BY step), 0), 1)
    END AS percent_of_previous
FROM steps
ORDER BY step;
