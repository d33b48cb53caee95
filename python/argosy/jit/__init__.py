"""Capture of Python functions as Programs."""
