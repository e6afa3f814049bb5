"""What SQL text means: classify it, bind its names, run it. The only home of sqlglot."""
