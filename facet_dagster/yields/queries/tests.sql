-- How many tests the accepted tasks have: functions in the file, and items that pytest executed on the solved state (FACET counts these).
-- Columns
--   counted: functions, or items
--   tasks: for which that is known
--   mean: per task
--   median: half of the tasks have less
--   least: of any task
--   p10: a tenth of the tasks have less
--   p90: a tenth of the tasks have more
--   most: of any task
WITH accepted AS (
    SELECT seed FROM outcomes GROUP BY seed HAVING arg_max(status, "at") = 'accepted'
),
functions AS (
    SELECT 'functions' AS counted, arg_max(tests, sequence) AS tests
    FROM components JOIN accepted USING (seed)
    WHERE kind = 'task'
    GROUP BY seed
),
items AS (
    SELECT 'items' AS counted, CAST(arg_max(json_extract_string(record, '$.body.oracle_runs[0].executed'), sequence) AS BIGINT)
    FROM components JOIN accepted USING (seed)
    WHERE kind = 'validation' AND verdict
    GROUP BY seed
),
known AS (FROM functions UNION ALL FROM items)
SELECT
    counted,
    count(tests) AS tasks,
    round(avg(tests), 2) AS mean,
    median(tests) AS median,
    min(tests) AS least,
    quantile_cont(tests, 0.1) AS p10,
    quantile_cont(tests, 0.9) AS p90,
    max(tests) AS most
FROM known
WHERE tests IS NOT NULL
GROUP BY counted
ORDER BY counted;
