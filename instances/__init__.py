"""What is given: problem instances, decisions, their files and generators; nothing is solved here."""
