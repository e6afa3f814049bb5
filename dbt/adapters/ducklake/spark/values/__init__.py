"""The values of columns: types, conversions and store assignment."""
