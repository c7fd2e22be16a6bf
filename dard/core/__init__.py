"""What every other room stands on: errors, settings, the state of a decode, prompts, plug-ins, where files are.

Promises: imports no torch and nothing of the other rooms.
Does not know: decoders, models, traces.
"""
