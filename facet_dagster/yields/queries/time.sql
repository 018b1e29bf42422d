-- How long the versions of each component took to make: what is written, built, executed and validated, model calls and repeats included.
-- Columns
--   component: of the bundle
--   origin: authored, repaired, re-executed or by-hand
--   versions: made
--   mean_seconds: per version
--   median_seconds: half of the versions took less
--   p90_seconds: a tenth of the versions took longer
--   hours: of all versions together
SELECT
    component,
    origin,
    count(*) AS versions,
    round(avg(seconds), 1) AS mean_seconds,
    round(median(seconds), 1) AS median_seconds,
    round(quantile_cont(seconds, 0.9), 1) AS p90_seconds,
    round(sum(seconds) / 3600, 2) AS hours
FROM components
GROUP BY component, origin
ORDER BY hours DESC, component, origin;
