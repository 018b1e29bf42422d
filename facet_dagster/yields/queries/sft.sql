-- What each rule of the selection removed from the newest SFT set, and how many dialogues were left after it.
-- Columns
--   rule: of the selection
--   asked: its terms
--   removed: dialogues
--   left: dialogues after it
WITH newest AS (SELECT record FROM sft_sets ORDER BY "at" DESC LIMIT 1),
steps AS (SELECT unnest(CAST(json_extract(record, '$.funnel[*]') AS JSON[])) AS step FROM newest)
SELECT
    json_extract_string(step, '$.rule') AS rule,
    json_extract_string(step, '$.asked') AS asked,
    CAST(json_extract(step, '$.removed') AS BIGINT) AS removed,
    CAST(json_extract(step, '$.left') AS BIGINT) AS "left"
FROM steps;
