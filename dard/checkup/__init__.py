"""Whether a model works on this machine: checks from the machine itself to an answer, the cheap ones first.

Promises: a damage is found by the check meant for it, and said in one sentence.
Does not know: how a report is shown.
"""
