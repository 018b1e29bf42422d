-- What was paid on each day (UTC), by all runs on the store together: what budgets of a day count.
-- Columns
--   day: of the calls, UTC
--   runs: that paid for any
--   calls: paid
--   tokens: sent and received
--   cost_usd: US dollars
SELECT
    CAST("at" AT TIME ZONE 'UTC' AS DATE) AS day,
    count(DISTINCT run_id) AS runs,
    count(*) AS calls,
    sum(prompt_tokens + completion_tokens)::BIGINT AS tokens,
    round(sum(cost_usd), 4) AS cost_usd
FROM calls
WHERE NOT recorded
GROUP BY day
ORDER BY day;
