"""What a statement means in a lake: each name is resolved once, into a frozen value. Changes nothing."""
