"""The one family of exceptions that this package raises on bad input."""


class PlannerError(ValueError):
    """Input that the planner cannot use; the message is one plain sentence (or two) for the user.

    It names the key or field, the value found, what was expected, and what to do.
    """


class ConfigError(PlannerError):
    """A `config.json` that cannot be read as a model."""


class LinkError(PlannerError):
    """A link or scenario file that cannot be read at all."""


class MeasurementError(PlannerError):
    """A pasted tool output that was not recognised or cannot be true."""
