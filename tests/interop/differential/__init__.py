"""Random statements of both sides, after which the lake must be equal for both."""
