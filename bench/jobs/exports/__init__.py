"""Records in other tools' formats, and back from JSON Lines."""
