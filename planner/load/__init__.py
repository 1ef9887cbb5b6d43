"""Arrivals, time in system and requests in flight."""
