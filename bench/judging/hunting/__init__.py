"""The parts of the search for worst cases: how an instance is judged, changed and simplified."""
