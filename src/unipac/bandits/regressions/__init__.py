"""Ridge regressions that are not compiled into loops: elimination, sampling, weights."""
