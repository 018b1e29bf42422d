"""Read SKILL.md folders: normalise, reject with one reason, de-duplicate."""
