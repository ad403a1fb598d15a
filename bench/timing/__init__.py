"""Times of single methods, for developers who compare two states of the code."""
