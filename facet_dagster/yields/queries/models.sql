-- Yields by the model that wrote the components and by the scheme they were written under; seeds that ended only.
-- Columns
--   author: model of the author's calls, "several" where more than one wrote
--   scheme: forward, reverse or joint, told by the prompts that were asked
--   seeds: with a verdict
--   first_pass: accepted without repair, before anything was made by hand
--   first_pass_percent: of seeds
--   accepted: in the end
--   accepted_percent: of seeds
--   mean_rounds: repair rounds per seed, before anything was made by hand
--   tokens_per_accepted: construction tokens of all these seeds per accepted one
--   usd_per_accepted: US dollars of the same calls
WITH spent AS (
    SELECT
        subject AS seed,
        CASE WHEN count(DISTINCT model) FILTER (WHERE role = 'author') > 1 THEN 'several'
            ELSE any_value(model) FILTER (WHERE role = 'author') END AS author,
        CASE WHEN bool_or(station = 'authoring.joint') THEN 'joint'
            WHEN bool_or(station = 'authoring.verifier_first') THEN 'reverse'
            ELSE 'forward' END AS scheme,
        sum(prompt_tokens + completion_tokens) AS tokens,
        sum(cost_usd) AS cost_usd
    FROM calls
    WHERE station NOT LIKE 'rollout.%'
    GROUP BY subject
)
SELECT
    coalesce(author, 'unknown') AS author,
    coalesce(scheme, 'unknown') AS scheme,
    count(*) AS seeds,
    count(*) FILTER (WHERE first_pass) AS first_pass,
    round(100.0 * count(*) FILTER (WHERE first_pass) / count(*), 1) AS first_pass_percent,
    count(*) FILTER (WHERE status = 'accepted') AS accepted,
    round(100.0 * count(*) FILTER (WHERE status = 'accepted') / count(*), 1) AS accepted_percent,
    round(avg(rounds), 2) AS mean_rounds,
    round(sum(tokens) / nullif(count(*) FILTER (WHERE status = 'accepted'), 0))::BIGINT AS tokens_per_accepted,
    round(sum(cost_usd) / nullif(count(*) FILTER (WHERE status = 'accepted'), 0), 4) AS usd_per_accepted
FROM endings
LEFT JOIN spent USING (seed)
WHERE status <> 'pending'
GROUP BY ALL
ORDER BY seeds DESC, author, scheme;
