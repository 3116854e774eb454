"""A package of which only the modules inside are used: `neuronxcc` and parts of its compiler."""
