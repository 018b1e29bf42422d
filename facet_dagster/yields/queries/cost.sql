-- What the model calls of each station cost: calls, tokens, US dollars, seconds. Replayed calls cost nothing and stand apart.
-- Columns
--   answers: paid or recorded (replayed)
--   station: the folder of the prompt, or "all stations"
--   calls: made
--   prompt_tokens: sent, as the endpoint counts
--   completion_tokens: received
--   cost_usd: US dollars by the prices that were set
--   seconds: waited, of all calls together
WITH made AS (
    SELECT *, split_part(station, '.', 1) AS folder, CASE WHEN recorded THEN 'recorded' ELSE 'paid' END AS answers
    FROM calls
)
SELECT
    answers,
    coalesce(folder, 'all stations') AS station,
    count(*) AS calls,
    sum(prompt_tokens)::BIGINT AS prompt_tokens,
    sum(completion_tokens)::BIGINT AS completion_tokens,
    round(sum(cost_usd), 4) AS cost_usd,
    round(sum(seconds), 1) AS seconds
FROM made
GROUP BY GROUPING SETS ((answers, folder), (answers))
ORDER BY answers, folder NULLS LAST;
