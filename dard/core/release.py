"""Which version this is: that of the newest part of CHANGELOG.md, with .dev0 until it is released."""

__version__ = "0.3.0.dev0"
