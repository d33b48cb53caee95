"""Fused layers."""
