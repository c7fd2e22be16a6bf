from dard.decoders.masks import *  # noqa: F403
