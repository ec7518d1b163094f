"""Run a short program statement by statement, and show the graph after each: `backscope.film`."""
