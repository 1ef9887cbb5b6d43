"""Settings that all tests share."""

from hypothesis import HealthCheck, settings

# No test is timed: a busy machine must not make one fail. Derandomized, so that a commit passes or fails for good.
settings.register_profile("planner", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("planner")
