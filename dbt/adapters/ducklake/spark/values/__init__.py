"""Values of columns: types, conversions, what an assignment accepts."""
