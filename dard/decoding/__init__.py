"""The passes of decodes, alone and in company: one loop, a scheduler for many, and the session that steps and branches.

Promises: a session makes the same steps alone and with others.
Does not know: any decoder's rule, files, or who is watching.
"""
