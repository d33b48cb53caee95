"""Detection operators, by kind; argosy.vision.ops has their public names."""
