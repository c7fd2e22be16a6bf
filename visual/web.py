"""The browser's part of the page as text: ES modules joined into one script, and style sheets.

The modules in assets/web run as they are in any browser; joined, they need no further request and no path.
"""

from __future__ import annotations

import re
from functools import cache

from dard.folders import assets

WEB = assets("web")
IMPORT = re.compile(r"^import \{([^}]*)\} from '\./([\w.]+)';$", re.M)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.M)


@cache
def script(entry: str) -> str:
    """A module and everything it imports as one script; what the module exports becomes top-level names."""
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in order:
            for found in IMPORT.finditer(source(name)):
                visit(found[2])
            order.append(name)

    visit(entry)
    parts = ["const modules = {};"]
    for name in order:
        names = EXPORT.findall(source(name))
        text = IMPORT.sub(lambda found: f"const {{{found[1]}}} = modules['{found[2]}'];", source(name))
        parts.append(f"modules['{name}'] = (() => {{\n{EXPORT.sub('', text)}\nreturn {{ {', '.join(names)} }};\n}})();")
    parts.append(f"const {{ {', '.join(EXPORT.findall(source(entry)))} }} = modules['{entry}'];")
    return "\n".join(parts)


@cache
def source(name: str) -> str:
    return (WEB / name).read_text(encoding="utf-8")


def style(*names: str) -> str:
    return "\n".join(source(name) for name in names)
