-- What goes wrong: rejections by component at fault and reason, over all rounds (versions, seeds), and how many seeds ended so.
-- found_by tells a station that could not make its component from a gate that the finished bundle did not pass.
-- Columns
--   component: at fault, or "undecided"
--   reason: of the closed set
--   by_station: versions that a station could not make
--   by_validation: gates that a bundle did not pass
--   seeds: in which it happened
--   seeds_ended: that ended so
WITH found AS (
    SELECT
        seed,
        json_extract_string(record, '$.body.component') AS component,
        json_extract_string(record, '$.body.reason') AS reason,
        'station' AS found_by
    FROM components
    WHERE json_extract_string(record, '$.body.kind') = 'rejected'
    UNION ALL
    SELECT
        seed,
        coalesce(json_extract_string(gate, '$.component'), 'undecided') AS component,
        coalesce(json_extract_string(gate, '$.reason'), json_extract_string(gate, '$.gate')) AS reason,
        'validation' AS found_by
    FROM (
        SELECT seed, unnest(CAST(json_extract(record, '$.body.gates') AS JSON[])) AS gate
        FROM components
        WHERE json_extract_string(record, '$.body.kind') = 'validation'
    )
    WHERE json_extract_string(gate, '$.passed') = 'false'
    UNION ALL
    SELECT seed, component, reason, 'end' AS found_by
    FROM (
        SELECT seed, arg_max(status, "at") AS status, arg_max(component, "at") AS component, arg_max(reason, "at") AS reason
        FROM outcomes
        GROUP BY seed
    )
    WHERE status = 'rejected'
)
SELECT
    component,
    reason,
    count(*) FILTER (WHERE found_by = 'station') AS by_station,
    count(*) FILTER (WHERE found_by = 'validation') AS by_validation,
    count(DISTINCT seed) AS seeds,
    count(*) FILTER (WHERE found_by = 'end') AS seeds_ended
FROM found
GROUP BY component, reason
ORDER BY seeds DESC, component, reason;
