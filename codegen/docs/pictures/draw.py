#!/usr/bin/env python3
"""Draws the pictures of the README, in light and dark. Needs only Python.

draw.py            writes overview-*.svg, and benchmarks-*.svg from tests/bench/RESULTS.md
draw.py --check    fails if one of them is outdated
draw.py --report   takes report-*.png with Chromium, of a comparison by the program in $MCPGEN
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from html import escape

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parents[2] / "tests/bench/RESULTS.md"
THEMES = {
    "light": {"text": "#1f2328", "quiet": "#59636e", "line": "#d1d9e0", "box": "#f6f8fa", "ours": "#0969da", "other": "#afb8c1"},
    "dark": {"text": "#f0f6fc", "quiet": "#9198a1", "line": "#3d444d", "box": "#151b23", "ours": "#4493f8", "other": "#656c76"},
}
# What the plot shows: its title, then the table, row and contenders in RESULTS.md. Less is better in all of them.
BARS = [
    ("Decode a tools/call request", "Decode:", "tools/call (175 B)", ["mcpgen", "by hand", "rmcp", "rust-mcp-schema"]),
    ("Encode a list of 50 tools", "Encode:", "tools/list result, 50 tools", ["mcpgen", "by hand", "rmcp", "rust-mcp-schema"]),
    ("Memory of an idle HTTP session", "Streamable HTTP: resident memory", "10000 idle sessions, each", ["mcpgen", "rmcp"]),
    ("CPU of the server for a call in an HTTP session, 64 connections", "Streamable HTTP: tools/call",
     "session calls, 64 connections, CPU of the server per request", ["mcpgen", "rmcp"]),
    ("Clean dev build with the types of 2025-11-25", "Cold builds:", "dev 2025-11-25: cold build", ["mcpgen", "rust-mcp-schema", "rmcp"]),
]


def row(lines, table, name):
    """Returns the cells of a row of RESULTS.md by their columns."""
    begin = next(at for at, line in enumerate(lines) if line.startswith("**" + table))
    cells = [line.strip("|").split("|") for line in lines[begin:] if line.startswith("|")]
    header = [cell.strip() for cell in cells[0]]
    found = next(cell for cell in cells if cell[0].strip() == name)
    return dict(zip(header, (cell.strip(" *") for cell in found)))


def label(lines, table, contender):
    """Names a contender, with its version if the line above the table has one. Tables are not all measured at the same time."""
    if contender == "by hand":
        return "serde structs by hand"
    begin = next(at for at, line in enumerate(lines) if line.startswith("**" + table))
    versions = next(line for line in reversed(lines[:begin]) if line.startswith("`tests/bench/run"))
    found = re.search(rf" {re.escape(contender)} [0-9.]*[0-9]", versions)
    return found.group().strip() if found else contender


def text(x, y, words, color, size=13, anchor="start", weight="normal"):
    return (f'<text x="{x}" y="{y}" fill="{color}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}">'
            f"{escape(words)}</text>")


def svg(height, title, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 830 {height}" width="830" height="{height}" role="img" '
            'font-family="-apple-system, Segoe UI, Noto Sans, Helvetica, Arial, sans-serif">\n'
            f"<title>{escape(title)}</title>\n" + "\n".join(parts) + "\n</svg>\n")


def absolute(figure, base):
    """Multiplies a figure of the column `base`, such as `1.15 µs`."""
    number, unit = base.split(" ", 1)
    value = float(number) * figure
    if unit == "ns" and value >= 1000:
        value, unit = value / 1000, "µs"
    return f"{value:.3g} {unit}"


def benchmarks(theme):
    lines = RESULTS.read_text().splitlines()
    parts, y = [], 24
    for title, table, name, contenders in BARS:
        cells = row(lines, table, name)
        figures = {contender: float(cells[contender]) for contender in contenders}
        parts.append(text(0, y, title, theme["text"], 14, weight="600"))
        y += 10
        for contender, figure in figures.items():
            width = round(440 * figure / max(figures.values()), 1)
            ours = contender == "mcpgen"
            color, weight = (theme["text"], "600") if ours else (theme["quiet"], "normal")
            parts.append(text(170, y + 13, label(lines, table, contender), color, 13, "end", weight))
            parts.append(f'<rect x="180" y="{y}" width="{width}" height="16" rx="2" fill="{theme["ours" if ours else "other"]}"/>')
            times = "" if ours else f"  ({figure / figures['mcpgen']:.2g} times mcpgen)"
            parts.append(text(188 + width, y + 13, absolute(figure, cells["base"]) + times, color))
            y += 21
        y += 25
    return svg(y - 20, "Benchmarks: shorter bars are better", parts)


def overview(theme):
    parts = ['<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
             f'<path d="M0 0 8 4 0 8z" fill="{theme["quiet"]}"/></marker></defs>']

    def box(x, y, width, title, note, ours=False):
        parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="58" rx="6" fill="{theme["box"]}" '
                     f'stroke="{theme["ours" if ours else "line"]}"/>')
        parts.append(text(x + width / 2, y + 25, title, theme["text"], 14, "middle", "600"))
        parts.append(text(x + width / 2, y + 44, note, theme["quiet"], 12, "middle"))

    def arrow(path):
        parts.append(f'<path d="{path}" fill="none" stroke="{theme["quiet"]}" marker-end="url(#tip)"/>')

    box(1, 91, 160, "schema.json", "MCP, LSP, ACP, yours")
    box(211, 91, 150, "model", "types, methods, unions", True)
    box(421, 1, 170, "Rust types", "exact, lossless")
    box(421, 91, 170, "conversions", "between any two revisions")
    box(421, 181, 170, "diff", "a proof or a witness")
    box(651, 1, 178, "servers and clients", "stdio, HTTP, every revision")
    box(651, 181, 178, "your CI", "who breaks, and by what")
    arrow("M161 120H209")
    arrow("M361 120H419")
    arrow("M361 110C395 110 390 30 419 30")
    arrow("M361 130C395 130 390 210 419 210")
    arrow("M591 30H649")
    arrow("M591 120C660 120 720 110 730 61")
    arrow("M591 210H649")
    return svg(240, "From a schema to types, conversions and comparisons, and from these to servers, clients and CI", parts)


def tools(**changes):
    tool = {
        "name": "search_files",
        "description": "Finds files by a pattern.",
        "inputSchema": {"type": "object", "required": ["pattern"], "properties": {
            "pattern": {"type": "string"}, "limit": {"type": "integer", "maximum": 1000}}},
        "annotations": {"readOnlyHint": True},
    }
    return {"tools": [tool | changes]}


def report():
    new = tools(annotations={}, inputSchema={"type": "object", "required": ["path", "pattern"], "properties": {
        "path": {"type": "string"}, "pattern": {"type": "string"}, "limit": {"type": "integer", "maximum": 100}}})
    with tempfile.TemporaryDirectory() as folder:
        for name, lists in [("old.json", tools()), ("new.json", new)]:
            pathlib.Path(folder, name).write_text(json.dumps(lists, indent=2))
        command = [os.environ.get("MCPGEN", "mcpgen"), "diff", "--tools", "old.json", "new.json", "--format", "html"]
        page = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=False).stdout.decode()
        for theme in THEMES:
            # Headless Chromium has no option for the preferred colours.
            path = pathlib.Path(folder, theme + ".html")
            # The findings are what fits into a README.
            style = "<style>section:not([aria-labelledby=findings]), header ~ nav, form { display: none }</style>"
            page = page.replace("</head>", style + "</head>")
            path.write_text(page.replace("color-scheme: light dark", f"color-scheme: {theme}").replace('"light dark"', f'"{theme}"'))
            subprocess.run([os.environ.get("CHROMIUM", "chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                            f"--screenshot={HERE / f'report-{theme}.png'}", "--window-size=830,840", path.as_uri()],
                           check=True, stderr=subprocess.DEVNULL)


def main():
    outdated = []
    for name, draw in [("overview", overview), ("benchmarks", benchmarks)]:
        for theme, colors in THEMES.items():
            path, drawn = HERE / f"{name}-{theme}.svg", draw(colors)
            if "--check" not in sys.argv:
                path.write_text(drawn)
            elif not path.exists() or path.read_text() != drawn:
                outdated.append(path.name)
    if outdated:
        sys.exit(f"outdated: {', '.join(outdated)}; run codegen/docs/pictures/draw.py")
    if "--report" in sys.argv:
        report()


if __name__ == "__main__":
    main()
