-- How much is left after every station, from skills to successes; the rows from seeds to accepted are those of FACET's table 5.
-- Columns
--   station: what is counted; pending are seeds without an end yet, which stand in none of the rows from validated to accepted
--   count: how many
--   percent: of those in `of`; empty where a new unit begins
--   of: the station that percent is a share of
WITH ended AS MATERIALIZED (
    SELECT seed, first_pass, status = 'accepted' AS accepted FROM endings WHERE status <> 'pending'
),
folders AS MATERIALIZED (
    SELECT arg_max(state, ingest) AS state FROM skill_log GROUP BY collection, source, path
),
walked AS MATERIALIZED (
    SELECT
        seed,
        bool_or(component = 'environment') AS begun,
        arg_min(build_repairs, sequence) FILTER (WHERE kind = 'environment') AS build_repairs,
        bool_or(kind = 'validation' AND verdict IS NOT NULL) AS validated
    FROM components
    GROUP BY seed
),
steps(step, station, n, of) AS (
    SELECT 1, 'skills read', (SELECT count(*) FROM folders WHERE state <> 'removed'), NULL
    UNION ALL SELECT 2, 'valid skills', (SELECT count(*) FROM folders WHERE state = 'kept'), 'skills read'
    UNION ALL SELECT 3, 'seeds', (SELECT count(*) FROM seeds), NULL
    UNION ALL SELECT 4, 'seeds built', count(*) FILTER (WHERE begun), 'seeds' FROM walked
    UNION ALL SELECT 5, 'built at once', count(*) FILTER (WHERE build_repairs = 0), 'seeds built' FROM walked
    UNION ALL SELECT 6, 'built after repair', count(*) FILTER (WHERE build_repairs > 0), 'seeds built' FROM walked
    UNION ALL SELECT 7, 'environments built', count(build_repairs), 'seeds built' FROM walked
    UNION ALL SELECT 8, 'pending', count(*) FILTER (WHERE build_repairs IS NOT NULL AND accepted IS NULL), 'environments built'
    FROM walked LEFT JOIN ended USING (seed)
    UNION ALL SELECT 9, 'validated', count(*) FILTER (WHERE validated), 'environments built' FROM walked JOIN ended USING (seed)
    UNION ALL SELECT 10, 'first-pass valid', count(*) FILTER (WHERE first_pass), 'validated' FROM ended
    UNION ALL SELECT 11, 'accepted after repair', count(*) FILTER (WHERE accepted AND first_pass IS NOT TRUE), 'validated' FROM ended
    UNION ALL SELECT 12, 'accepted', count(*) FILTER (WHERE accepted), 'validated' FROM ended
    UNION ALL SELECT 13, 'rollouts', (SELECT count(*) FROM trials), NULL
    UNION ALL SELECT 14, 'graded', (SELECT count(reward) FROM trials), 'rollouts'
    UNION ALL SELECT 15, 'successes', (SELECT count(*) FROM trials WHERE reward = 1.0), 'graded'
)
SELECT
    steps.station,
    steps.n AS count,
    round(100.0 * steps.n / nullif(base.n, 0), 1) AS percent,
    steps.of
FROM steps
LEFT JOIN steps AS base ON base.station = steps.of
ORDER BY steps.step;
