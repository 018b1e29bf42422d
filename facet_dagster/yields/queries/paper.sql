-- Our figures beside those of the FACET paper (arXiv 2608.18580), each over the same kind of denominator.
-- Columns
--   figure: what is compared
--   ours: of this store; empty where there is nothing to count
--   of: how many units ours is over; pending seeds are in none but those of environments
--   paper: the paper's value
--   unit: of both values
--   source: where the paper says so
WITH ended AS MATERIALIZED (
    SELECT seed, first_pass, status = 'accepted' AS accepted FROM endings WHERE status <> 'pending'
),
walked AS MATERIALIZED (
    SELECT
        seed,
        arg_min(build_repairs, sequence) FILTER (WHERE kind = 'environment') AS build_repairs,
        bool_or(kind = 'validation' AND verdict IS NOT NULL) AS validated
    FROM components
    WHERE component IN ('environment', 'validation')
    GROUP BY seed
),
items AS (
    SELECT CAST(arg_max(json_extract_string(record, '$.body.oracle_runs[0].executed'), sequence) AS BIGINT) AS tests
    FROM components JOIN ended USING (seed)
    WHERE kind = 'validation' AND verdict AND accepted
    GROUP BY seed
),
trial AS (SELECT reward, json_array_length(record, '$.turns') AS turns FROM trials WHERE reward IS NOT NULL),
ours(nr, figure, value, of) AS (
    SELECT 1, 'environments built at once', 100.0 * count(*) FILTER (WHERE build_repairs = 0) / count(*), count(*) FROM walked
    UNION ALL SELECT 2, 'environments built in the end', 100.0 * count(build_repairs) / count(*), count(*) FROM walked
    UNION ALL
    SELECT 3, 'valid at the first pass', 100.0 * count(*) FILTER (WHERE first_pass) / count(*), count(*)
    FROM walked JOIN ended USING (seed) WHERE validated
    UNION ALL
    SELECT 4, 'valid in the end', 100.0 * count(*) FILTER (WHERE accepted) / count(*), count(*)
    FROM walked JOIN ended USING (seed) WHERE validated
    UNION ALL SELECT 5, 'tasks of all seeds', 100.0 * count(*) FILTER (WHERE accepted) / count(*), count(*) FROM ended
    UNION ALL SELECT 6, 'tests per task (pytest items)', avg(tests), count(tests) FROM items
    UNION ALL SELECT 7, 'success of the teacher', 100.0 * count(*) FILTER (WHERE reward = 1.0) / count(*), count(*) FROM trial
    UNION ALL SELECT 8, 'turns per successful trajectory', avg(turns), count(*) FROM trial WHERE reward = 1.0
),
paper(nr, paper, unit, source) AS (
    VALUES
        (1, 84.56, '% of seeds built', 'table 5: 6,630 of 7,841'),
        (2, 95.70, '% of seeds built', 'table 5: 7,504 of 7,841'),
        (3, 38.35, '% of validated', 'table 5: 2,856 of 7,446'),
        (4, 81.63, '% of validated', 'table 5: 6,078 of 7,446'),
        (5, 77.41, '% of seeds', 'table 5: 6,078 of 7,852'),
        (6, 22.77, 'tests', 'comparison of data sets'),
        (7, 20.94, '% of graded attempts', '1,270 of 6,066 (DeepSeek-V4-Pro, Terminus-2)'),
        (8, 11.87, 'turns', '15,075 turns of 1,270 successes')
)
SELECT figure, round(value, 2) AS ours, of, paper::DOUBLE AS paper, unit, source
FROM ours JOIN paper USING (nr)
ORDER BY nr;
