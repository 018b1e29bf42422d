-- What an accepted task costs when all that was spent on the way is counted, rejected seeds included; and a successful trajectory.
-- Columns
--   per: the unit
--   units: how many there are; of successful rollouts those whose calls were paid for here
--   calls: per unit
--   tokens: per unit
--   cost_usd: per unit, US dollars; replayed calls cost nothing
--   recorded: whether any of the calls was replayed
WITH part AS (
    SELECT 'accepted task' AS per, * FROM calls WHERE station NOT LIKE 'rollout.%' AND station NOT LIKE 'evaluation.%'
        AND subject NOT IN (SELECT DISTINCT seed FROM evaluation_trials)
    UNION ALL
    SELECT 'successful rollout', * FROM calls WHERE station LIKE 'rollout.%' AND NOT recorded
        AND subject NOT IN (SELECT DISTINCT seed FROM evaluation_trials)
),
units(per, units) AS (
    SELECT 'accepted task', count(*)
    FROM (SELECT seed FROM outcomes GROUP BY seed HAVING arg_max(status, "at") = 'accepted')
    UNION ALL
    -- Imported and replayed trials were paid for elsewhere. Rows of Harbor's agent have a station of their own.
    SELECT 'successful rollout', count(*)
    FROM (SELECT *, json_extract_string(record, '$.engine') = 'harbor' AS by_harbor FROM trials)
    SEMI JOIN (
        SELECT subject AS seed, station = 'rollout.harbor' AS by_harbor
        FROM calls
        WHERE station LIKE 'rollout.%' AND NOT recorded
    ) USING (seed, by_harbor)
    WHERE reward = 1.0 AND NOT recorded
)
SELECT
    per,
    any_value(units) AS units,
    round(count(*) / any_value(units), 1) AS calls,
    round(sum(prompt_tokens + completion_tokens) / any_value(units))::BIGINT AS tokens,
    round(sum(cost_usd) / any_value(units), 4) AS cost_usd,
    bool_or(recorded) AS recorded
FROM part
JOIN units USING (per)
WHERE units > 0
GROUP BY per
ORDER BY per;
