"""Tables, figures and pages drawn from stored records; nothing is solved here."""
