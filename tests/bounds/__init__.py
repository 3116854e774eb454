"""Error bounds against observed errors, over the corpus (`python -m tests.bounds`)."""
