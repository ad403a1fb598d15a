"""Methods that prove the optimum."""
