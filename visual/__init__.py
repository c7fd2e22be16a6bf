"""What is seen: the page and its server, files to keep, the static site, the notebook's widget, a Space.

Promises: shows traces, and nothing that was not computed by the library.
Does not know: any decoder by name; the browser draws, it does not decode.
"""
