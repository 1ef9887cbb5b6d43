"""How long things take; run by hand, never as a test."""
