"""Why a decode went as it did: a pass, or a run, made again with one thing changed, and what can reach what.

Promises: every number is of a pass that was really made again; a session that is asked stays as it was.
Does not know: any decoder's rule, files, or who is looking.
"""
