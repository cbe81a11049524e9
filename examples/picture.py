"""Runs examples and draws their terminal output as examples/NAME/picture.svg.

    picture.py NAME…
"""

import html
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
COLOURS = {"1": "fill:#fff;font-weight:bold", "2": "fill:#8b949e", "32": "fill:#56d364", "31": "fill:#ff7b72",
           "36": "fill:#79c0ff"}
WIDTH, HEIGHT, MARGIN, COLUMNS = 7.25, 17, 14, 112


def spans(line):
    """Returns a line as SVG, with one span for each run of characters of the same style."""
    style, out = "", []
    for part in re.split(r"(\x1b\[[\d;]*m)", line):
        if part.startswith("\x1b["):
            codes = [code for code in part[2:-1].split(";") if code not in ("", "0")]
            style = ";".join(COLOURS[code] for code in codes)
        elif part:
            text = html.escape(part)
            out.append(f'<tspan style="{style}">{text}</tspan>' if style else text)
    return "".join(out)


def draw(text):
    # Shorten keys: they are long and tell the reader nothing.
    text = re.sub(r"\b([0-9a-f]{8})[0-9a-f]{56}\b", r"\1…", text)
    lines = text.strip("\n").split("\n")
    high = len(lines) * HEIGHT + 2 * MARGIN
    wide = COLUMNS * WIDTH + 2 * MARGIN
    rows = "\n".join(
        f'<text xml:space="preserve" x="{MARGIN}" y="{MARGIN + (number + 0.75) * HEIGHT:.0f}">{spans(line)}</text>'
        for number, line in enumerate(lines) if line.strip())
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" width="{wide:.0f}">\n'
            '<style>text{font:12px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#c9d1d9;white-space:pre}'
            f'</style>\n<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n{rows}\n</svg>\n')


def main():
    for name in sys.argv[1:]:
        said = subprocess.run([HERE / name / "run"], env=os.environ | {"STORY_COLOR": "1"}, capture_output=True, text=True)
        if said.returncode != 0:
            sys.exit(f"{name}: {said.stdout}{said.stderr}")
        (HERE / name / "picture.svg").write_text(draw(said.stdout))


main()
