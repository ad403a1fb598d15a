"""One run of one method on one instance, and where its record is kept."""
