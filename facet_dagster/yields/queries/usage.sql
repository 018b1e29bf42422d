-- The ledger against the endpoint's own numbers, by model: whose tokens were reported and whose estimated, our prices and what it said it charged.
-- Columns
--   model: that answered
--   role: that it was asked in
--   calls: paid
--   estimated_calls: whose usage the endpoint did not report; counted as a token for four characters
--   reported_tokens: sent and received, as reported
--   estimated_tokens: sent and received, where estimated
--   ledger_usd: US dollars by the prices that were set
--   priced_calls: for which the endpoint said what it charged
--   priced_ledger_usd: US dollars of these by the prices that were set
--   endpoint_usd: US dollars of these as the endpoint said
--   difference_percent: of the ledger's figure from the endpoint's, for these calls
SELECT
    model,
    role,
    count(*) AS calls,
    count(*) FILTER (WHERE estimated) AS estimated_calls,
    coalesce(sum(prompt_tokens + completion_tokens) FILTER (WHERE estimated IS NOT TRUE), 0)::BIGINT AS reported_tokens,
    coalesce(sum(prompt_tokens + completion_tokens) FILTER (WHERE estimated), 0)::BIGINT AS estimated_tokens,
    round(sum(cost_usd), 4) AS ledger_usd,
    count(reported_usd) AS priced_calls,
    round(sum(cost_usd) FILTER (WHERE reported_usd IS NOT NULL), 4) AS priced_ledger_usd,
    round(sum(reported_usd), 4) AS endpoint_usd,
    round(
        100.0 * (sum(cost_usd) FILTER (WHERE reported_usd IS NOT NULL) - sum(reported_usd)) / nullif(sum(reported_usd), 0), 1
    ) AS difference_percent
FROM calls
WHERE NOT recorded
GROUP BY model, role
ORDER BY calls DESC, model, role;
