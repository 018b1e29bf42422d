-- How the teacher fares on accepted tasks: trials, grades, success rate, turns, tokens and how the trials ended, by model.
-- The success rate is over graded trials: infrastructure trouble is no failure of the teacher.
-- Columns
--   model: that worked
--   recorded: whether it was replayed
--   trials: attempts
--   graded: of them, with a grade
--   successes: with reward 1
--   success_percent: of graded
--   mean_turns: per trial
--   mean_seconds: per trial
--   prompt_tokens: sent, of all trials
--   completion_tokens: received
--   cost_usd: US dollars
--   completed: trials that the model ended itself
--   out_of_limits: ended by a limit
--   in_trouble: ended by model, engine or a killed process
WITH trial AS (
    SELECT
        model,
        recorded,
        stop,
        reward,
        seconds,
        json_array_length(record, '$.turns') AS turns,
        list_sum(CAST(json_extract(record, '$.turns[*].prompt_tokens') AS BIGINT[])) AS prompt_tokens,
        list_sum(CAST(json_extract(record, '$.turns[*].completion_tokens') AS BIGINT[])) AS completion_tokens,
        list_sum(CAST(json_extract(record, '$.turns[*].cost_usd') AS DOUBLE[])) AS cost_usd
    FROM trials
)
SELECT
    model,
    recorded,
    count(*) AS trials,
    count(reward) AS graded,
    count(*) FILTER (WHERE reward = 1.0) AS successes,
    round(100.0 * count(*) FILTER (WHERE reward = 1.0) / nullif(count(reward), 0), 1) AS success_percent,
    round(avg(turns), 1) AS mean_turns,
    round(avg(seconds), 1) AS mean_seconds,
    sum(prompt_tokens)::BIGINT AS prompt_tokens,
    sum(completion_tokens)::BIGINT AS completion_tokens,
    round(sum(cost_usd), 4) AS cost_usd,
    count(*) FILTER (WHERE stop = 'completed') AS completed,
    count(*) FILTER (WHERE stop IN ('turn_limit', 'time_limit', 'token_limit', 'cost_limit')) AS out_of_limits,
    count(*) FILTER (WHERE stop IN ('terminal_died', 'model_trouble', 'infrastructure', 'cut')) AS in_trouble
FROM trial
GROUP BY model, recorded
ORDER BY model, recorded;
