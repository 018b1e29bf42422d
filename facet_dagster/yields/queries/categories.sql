-- Yields by category of the skills: first pass, in the end, and how the teacher fares. A seed counts once in each category of its skills.
-- Columns
--   family: one of the five of the taxonomy, or "unknown" where no ingest has classed the skill
--   category: one of its categories
--   seeds: that have a skill of it
--   ended: of them, with a verdict
--   first_pass: accepted without repair, before anything was made by hand
--   first_pass_percent: of ended
--   accepted: in the end
--   accepted_percent: of ended
--   graded: attempts of the teacher with a grade
--   successes: of them with reward 1
--   success_percent: of graded
WITH ruled AS (
    SELECT skill_id, arg_max(content_hash, ingest) AS content_hash, arg_max(family, ingest) AS family,
        arg_max(category, ingest) AS category
    FROM skill_log
    WHERE skill_id <> ''
    GROUP BY skill_id
),
classed AS (
    -- What a model decided goes before the rules.
    SELECT skill_id, coalesce(model.family, ruled.family) AS family,
        CASE WHEN model.family IS NULL THEN ruled.category ELSE model.category END AS category
    FROM ruled
    LEFT JOIN (SELECT * FROM skill_classes WHERE decided_by = 'model') AS model USING (content_hash)
),
placed AS (
    SELECT DISTINCT of_seed.seed, coalesce(family, 'unknown') AS family, coalesce(category, 'unknown') AS category
    FROM (
        SELECT seed_id AS seed, unnest(CAST(json_extract_string(record, '$.skill_ids[*]') AS VARCHAR[])) AS skill_id
        FROM seeds
    ) AS of_seed
    LEFT JOIN classed USING (skill_id)
),
tried AS (
    SELECT seed, count(reward) AS graded, count(*) FILTER (WHERE reward = 1.0) AS successes FROM trials GROUP BY seed
)
SELECT
    family,
    category,
    count(*) AS seeds,
    count(*) FILTER (WHERE status <> 'pending') AS ended,
    count(*) FILTER (WHERE first_pass AND status <> 'pending') AS first_pass,
    round(100.0 * count(*) FILTER (WHERE first_pass AND status <> 'pending') / nullif(count(*) FILTER (WHERE status <> 'pending'), 0), 1)
        AS first_pass_percent,
    count(*) FILTER (WHERE status = 'accepted') AS accepted,
    round(100.0 * count(*) FILTER (WHERE status = 'accepted') / nullif(count(*) FILTER (WHERE status <> 'pending'), 0), 1)
        AS accepted_percent,
    coalesce(sum(graded), 0)::BIGINT AS graded,
    coalesce(sum(successes), 0)::BIGINT AS successes,
    round(100.0 * sum(successes) / nullif(sum(graded), 0), 1) AS success_percent
FROM placed
LEFT JOIN endings USING (seed)
LEFT JOIN tried USING (seed)
GROUP BY family, category
ORDER BY seeds DESC, family, category;
