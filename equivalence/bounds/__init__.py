"""Whether error bounds hold and how tight they are: observed errors, a search for the largest, condition numbers."""
