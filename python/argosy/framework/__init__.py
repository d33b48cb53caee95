"""Base services: dtypes, random state, saving and loading."""
