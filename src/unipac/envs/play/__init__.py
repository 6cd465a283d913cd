"""Episodes and samples of MDPs."""
