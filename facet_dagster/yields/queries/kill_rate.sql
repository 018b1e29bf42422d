-- How many of the wrong final states (negative controls, gate G4) the tests refused, over all validations, by what was done to an output.
-- Columns
--   control: what was done
--   tried: controls
--   decided: of them, with a verdict
--   killed: refused by the tests
--   kill_percent: killed of decided
--   final_decided: decided ones of the validations that accepted a task
--   final_kill_percent: share of these that were refused
WITH control AS (
    SELECT verdict, unnest(CAST(json_extract(record, '$.body.controls[*]') AS JSON[])) AS control
    FROM components
    WHERE kind = 'validation'
),
told AS (
    SELECT
        verdict,
        json_extract_string(control, '$.kind') AS kind,
        CAST(json_extract_string(control, '$.killed') AS BOOLEAN) AS killed
    FROM control
)
SELECT
    coalesce(kind, 'all controls') AS control,
    count(*) AS tried,
    count(killed) AS decided,
    count(*) FILTER (WHERE killed) AS killed,
    round(100.0 * count(*) FILTER (WHERE killed) / nullif(count(killed), 0), 1) AS kill_percent,
    count(killed) FILTER (WHERE verdict) AS final_decided,
    round(100.0 * count(*) FILTER (WHERE killed AND verdict) / nullif(count(killed) FILTER (WHERE verdict), 0), 1)
        AS final_kill_percent
FROM told
GROUP BY GROUPING SETS ((kind), ())
HAVING count(*) > 0
ORDER BY kind IS NULL, tried DESC, control;
