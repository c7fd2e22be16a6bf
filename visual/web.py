"""The browser's part of the page as text: ES modules joined into one script, and style sheets.

The modules in assets/web run as they are in any browser; joined, they need no further request and no path.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache, partial

from dard.core.folders import assets

WEB = assets("web")
IMPORT = re.compile(r"^import \{([^}]*)\} from '(\.[\w./]+)';$", re.M)
COMMENTS = re.compile(r"^ */\*\*(?:(?!\*/).)*\*/\n|/\*\* @(?:(?!\*/).)*\*/ ?|^ *//[^\n]*\n", re.M | re.S)
SHEET = re.compile(r"^@import '(\.[\w./]+)';$", re.M)
READ = re.compile(r"/\*.*?\*/\s*|^\s+", re.M | re.S)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.M)


@cache
def script(entry: str) -> str:
    """A module and everything it imports as one script; what the module exports becomes top-level names.

    What is written for readers and for a type checker stays behind.
    """
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in order:
            for wanted in IMPORT.finditer(source(name)):
                visit(beside(name, wanted[2]))
            order.append(name)

    visit(entry)
    parts = ["const modules = {};"]
    for name in order:
        names = EXPORT.findall(source(name))
        text = COMMENTS.sub("", source(name))
        for wanted in IMPORT.finditer(text):
            taken = f"const {{{wanted[1]}}} = modules['{beside(name, wanted[2])}'];"
            text = text.replace(wanted[0], taken)
        parts.append(f"modules['{name}'] = (() => {{\n{EXPORT.sub('', text)}\nreturn {{ {', '.join(names)} }};\n}})();")
    parts.append(f"const {{ {', '.join(EXPORT.findall(source(entry)))} }} = modules['{entry}'];")
    return "\n".join(parts)


def beside(name: str, wanted: str) -> str:
    """A module as another one names it.

    >>> beside("panels/mask.js", "../draw/dom.js"), beside("panels/mask.js", "./panel.js")
    ('draw/dom.js', 'panels/panel.js')
    """
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), wanted))


@cache
def source(name: str) -> str:
    return (WEB / name).read_text(encoding="utf-8")


@cache
def style(*names: str) -> str:
    """Style sheets as one, those that they import in their place. What is written for readers stays behind."""
    return "\n".join(READ.sub("", SHEET.sub(partial(imported, name), source(name))) for name in names)


def imported(name: str, wanted: re.Match[str]) -> str:
    return style(beside(name, wanted[1]))
