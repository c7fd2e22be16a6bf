from dard.analysis.reach import contaminated as contaminated
from dard.analysis.reach import reach as reach
from dard.decoders.masks import *  # noqa: F403
