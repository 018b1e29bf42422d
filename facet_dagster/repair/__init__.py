"""Which component is at fault, with what evidence; what a repair may not do."""
