"""Questions to the store, answered by DuckDB: queries/*.sql and the reports drawn from them."""
