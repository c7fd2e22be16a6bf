"""The server behind the page, the notebook, programs and assistants.

Promises: whatever may be asked stands in one table (`endpoints.py`), with what a question must hold (`requests.py`);
everything that arrives is taken for hostile until it was checked, and what is refused is refused in one sentence.
Answers are plain JSON.
Does not know: Gradio, the widget, or what a browser does with an answer.
"""
