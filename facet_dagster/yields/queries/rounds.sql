-- How many repair rounds the seeds needed, how those ended, and the share accepted by then (FACET table 2 counts so).
-- Columns
--   rounds: repair rounds used; a seed counts as it stood before anything was made by hand
--   seeds: that used so many
--   accepted: of them
--   rejected: of them
--   pending: of them, to be tried again
--   accepted_by_then_percent: of all seeds walked
WITH ended AS (SELECT seed, unaided AS status, rounds FROM endings WHERE unaided IS NOT NULL)
SELECT
    rounds,
    count(*) AS seeds,
    count(*) FILTER (WHERE status = 'accepted') AS accepted,
    count(*) FILTER (WHERE status = 'rejected') AS rejected,
    count(*) FILTER (WHERE status = 'pending') AS pending,
    round(
        100.0 * sum(count(*) FILTER (WHERE status = 'accepted')) OVER (ORDER BY rounds) / sum(count(*)) OVER (), 1
    ) AS accepted_by_then_percent
FROM ended
GROUP BY rounds
ORDER BY rounds;
