-- What each repair round brings: how many seeds entered it, how many it made valid, and what its calls cost. Round 0 is the first pass.
-- Columns
--   round: 0 is the first pass; a seed counts as it stood before anything was made by hand
--   seeds: with a verdict, that entered it
--   accepted: that it made valid
--   gain_percent: accepted of those that entered it
--   accepted_by_then_percent: of all seeds with a verdict
--   tokens: of the calls of the round, for these seeds
--   cost_usd: of the same calls, US dollars
WITH verdicts AS (SELECT seed, unaided AS status, rounds FROM endings WHERE unaided <> 'pending'),
numbers AS (SELECT unnest(generate_series(0, (SELECT max(rounds) FROM verdicts))) AS round),
entered AS (
    SELECT
        round,
        count(*) FILTER (WHERE rounds >= round) AS seeds,
        count(*) FILTER (WHERE rounds = round AND status = 'accepted') AS accepted
    FROM numbers, verdicts
    GROUP BY round
),
spent AS (
    SELECT
        calls.round,
        sum(prompt_tokens + completion_tokens)::BIGINT AS tokens,
        sum(cost_usd) AS cost_usd
    FROM calls
    LEFT JOIN by_hand ON subject = seed
    WHERE station NOT LIKE 'rollout.%' AND subject IN (SELECT seed FROM verdicts)
        AND (by_hand.round IS NULL OR calls.round < by_hand.round)
    GROUP BY calls.round
)
SELECT
    round,
    seeds,
    accepted,
    round(100.0 * accepted / nullif(seeds, 0), 1) AS gain_percent,
    round(100.0 * sum(accepted) OVER (ORDER BY round) / (SELECT count(*) FROM verdicts), 1) AS accepted_by_then_percent,
    coalesce(tokens, 0) AS tokens,
    round(coalesce(cost_usd, 0), 4) AS cost_usd
FROM entered
LEFT JOIN spent USING (round)
ORDER BY round;
