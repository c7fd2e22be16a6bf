"""The commands: `dard COMMAND` or `python -m dard COMMAND`, one file for each.

Promises: bad input ends with one sentence and exit code 2; what is heavy is imported when its command runs.
Does not know: how anything is computed or drawn.
"""
