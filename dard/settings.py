from dard.core.settings import *  # noqa: F403
