"""Harbor task export and SFT export."""
