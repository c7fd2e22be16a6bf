"""Drawing a trace without a browser: the parts that `visual.pictures` and `visual.vector` are made of."""
