from dard.trace.readers import *  # noqa: F403
