"""The multi-dimensional multiple-choice knapsack problem."""
