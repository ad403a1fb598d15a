"""From records to statistics and verdicts on published claims."""
