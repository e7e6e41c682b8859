"""The words everything else is written in. Imports nothing of Lycosa; read `records` and `contracts` first."""
