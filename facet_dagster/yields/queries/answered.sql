-- What repairs answered: component rewritten and reason, how often, for how many seeds, and how those ended.
-- Columns
--   component: that was rewritten
--   reason: that was found in the version before
--   repairs: versions
--   seeds: in which that happened
--   accepted: of them, in the end
--   accepted_percent: of seeds
WITH ended AS (SELECT seed, arg_max(status, "at") = 'accepted' AS accepted FROM outcomes GROUP BY seed)
SELECT
    component,
    answers AS reason,
    count(*) AS repairs,
    count(DISTINCT seed) AS seeds,
    count(DISTINCT seed) FILTER (WHERE accepted) AS accepted,
    round(100.0 * count(DISTINCT seed) FILTER (WHERE accepted) / count(DISTINCT seed), 1) AS accepted_percent
FROM components
LEFT JOIN ended USING (seed)
WHERE answers IS NOT NULL
GROUP BY component, answers
ORDER BY repairs DESC, component, reason;
