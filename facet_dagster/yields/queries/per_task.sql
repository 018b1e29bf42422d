-- What every accepted task took to make (calls, tokens, US dollars, repair rounds) and how large it is (tests, words).
-- Rollouts are not part of making a task and are left out.
-- Columns
--   seed: of the task
--   task: its name
--   rounds: repair rounds that it took
--   calls: of its construction
--   tokens: sent and received by them
--   cost_usd: US dollars
--   recorded: whether any call was replayed
--   tests: test functions
--   words: of the instruction
WITH accepted AS (
    SELECT seed, arg_max(rounds, "at") AS rounds
    FROM outcomes
    GROUP BY seed
    HAVING arg_max(status, "at") = 'accepted'
),
task AS (
    SELECT seed, arg_max(record, sequence) AS record
    FROM components
    WHERE json_extract_string(record, '$.body.kind') = 'task'
    GROUP BY seed
),
instruction AS (
    SELECT seed, arg_max(json_extract_string(record, '$.body.text'), sequence) AS text
    FROM components
    WHERE json_extract_string(record, '$.body.kind') = 'instruction'
    GROUP BY seed
),
spent AS (
    SELECT
        subject AS seed,
        count(*) AS calls,
        sum(prompt_tokens + completion_tokens)::BIGINT AS tokens,
        sum(cost_usd) AS cost_usd,
        bool_or(recorded) AS recorded
    FROM calls
    WHERE station NOT LIKE 'rollout.%'
    GROUP BY subject
)
SELECT
    accepted.seed,
    json_extract_string(task.record, '$.body.name') AS task,
    accepted.rounds,
    coalesce(spent.calls, 0) AS calls,
    coalesce(spent.tokens, 0) AS tokens,
    round(coalesce(spent.cost_usd, 0), 4) AS cost_usd,
    coalesce(spent.recorded, false) AS recorded,
    CAST(json_extract(task.record, '$.body.tests') AS BIGINT) AS tests,
    len(regexp_extract_all(instruction.text, '\S+')) AS words
FROM accepted
LEFT JOIN task USING (seed)
LEFT JOIN instruction USING (seed)
LEFT JOIN spent USING (seed)
ORDER BY accepted.seed;
