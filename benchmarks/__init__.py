"""Speed bars: whole compares against one run of Triton's interpreter."""
