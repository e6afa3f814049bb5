"""Operations with Spark."""
