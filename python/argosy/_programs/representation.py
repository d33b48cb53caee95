"""How static Programs show themselves, as the guards of pir_utils say: there is one representation here."""

# pir: Programs count as made of values, not of named variables.
# inputs: inputs and state are shown as operations, before those that compute.
REPRESENTATION = {"pir": True, "inputs": False}
