"""Layers under the names Module, ModuleList and ModuleDict."""
