-- What became of every trial in the newest SFT set, context by context: its split, or the rule that removed it and what shows it.
-- Columns
--   seed: of the trial
--   model: that worked
--   attempt: of the teacher
--   context: hand-overs before the dialogue
--   split: train or validation, where it became a row
--   rule: that removed it, where not
--   evidence: what shows that
WITH newest AS (SELECT record FROM sft_sets ORDER BY "at" DESC LIMIT 1),
decided AS (SELECT unnest(CAST(json_extract(record, '$.decisions[*]') AS JSON[])) AS decision FROM newest)
SELECT
    json_extract_string(decision, '$.seed') AS seed,
    json_extract_string(decision, '$.model') AS model,
    CAST(json_extract(decision, '$.attempt') AS BIGINT) AS attempt,
    coalesce(CAST(json_extract(decision, '$.context') AS BIGINT), 0) AS context,
    json_extract_string(decision, '$.split') AS split,
    json_extract_string(decision, '$.rule') AS rule,
    json_extract_string(decision, '$.evidence') AS evidence
FROM decided
ORDER BY seed, model, attempt, context;
