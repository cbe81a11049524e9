"""Pictures of a run as SVG, without any library."""

import collections
import math

from figures import percentile

WIDE, LEFT, RIGHT, TOP = 760, 62, 14, 34
STYLE = """<style>
.back{fill:#fff}.axis{stroke:#57606a}.grid{stroke:#d0d7de}text{font:12px system-ui,sans-serif;fill:#24292f}
.title{font-weight:600}.fault{fill:#cf222e;fill-opacity:.1}.lane{fill:#cf222e;fill-opacity:.55}
.p50{stroke:#0969da;fill:none;stroke-width:1.5}.p99{stroke:#bc4c00;fill:none;stroke-width:1.5}.bar{fill:#0969da}
.k50{fill:#0969da}.k99{fill:#bc4c00}
@media(prefers-color-scheme:dark){.back{fill:#0d1117}.axis{stroke:#8b949e}.grid{stroke:#30363d}text{fill:#c9d1d9}
.fault,.lane{fill:#ff7b72}.p50{stroke:#58a6ff}.p99{stroke:#f0883e}.bar,.k50{fill:#58a6ff}.k99{fill:#f0883e}}
</style>"""


class Picture:
    def __init__(self, high, title):
        self.high, self.parts = high, [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {high}" width="{WIDE}" role="img">',
            f"<title>{title}</title>", STYLE, f'<rect class="back" width="{WIDE}" height="{high}" rx="6"/>']
        self.text(LEFT, 20, title, "title")

    def text(self, x, y, text, kind="", anchor="start"):
        name = f' class="{kind}"' if kind else ""
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.parts.append(f'<text x="{x:.0f}" y="{y:.0f}"{name}{place}>{text}</text>')

    def line(self, x1, y1, x2, y2, kind):
        self.parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def box(self, x, y, wide, high, kind):
        self.parts.append(
            f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(wide, 0.8):.1f}" height="{high:.1f}"/>')

    def path(self, points, kind):
        steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline class="{kind}" points="{steps}"/>')

    def save(self, path):
        path.write_text("\n".join([*self.parts, "</svg>", ""]))


def latency(history, faults, path):
    """The latency of all answered requests but waits, p50 and p99 of each second, over time, with the faults."""
    answered = [each for each in history.operations if each.outcome == "ok" and each.command != "wait"]
    last = max(each.end for each in answered)
    kinds = sorted({fault["fault"] for fault in faults})
    bottom = 260
    picture = Picture(bottom + 40 + 16 * len(kinds), "Latency of requests in each second (ms); red: a fault is under way")
    across = lambda seconds: LEFT + (WIDE - LEFT - RIGHT) * seconds / last  # noqa: E731
    lowest, highest = -0.5, 3.7
    up = lambda seconds: bottom - (bottom - TOP) * (  # noqa: E731
        max(lowest, min(highest, math.log10(max(seconds, 1e-6) * 1_000))) - lowest) / (highest - lowest)
    for fault in faults:
        picture.box(across(fault["begin"]), TOP, across(fault["end"]) - across(fault["begin"]), bottom - TOP, "fault")
    for power in range(4):
        picture.line(LEFT, up(10**power / 1_000), WIDE - RIGHT, up(10**power / 1_000), "grid")
        picture.text(LEFT - 8, up(10**power / 1_000) + 4, f"{10**power:,}", anchor="end")
    seconds = collections.defaultdict(list)
    for each in answered:
        seconds[int(each.end)].append(each.end - each.begin)
    for share, kind in ((0.99, "p99"), (0.5, "p50")):
        picture.path([(across(second + 0.5), up(percentile(values, share))) for second, values in sorted(seconds.items())
                      if second + 0.5 < last], kind)
    picture.text(WIDE - RIGHT - 90, 20, "p50", "k50")
    picture.text(WIDE - RIGHT - 50, 20, "p99", "k99")
    picture.line(LEFT, bottom, WIDE - RIGHT, bottom, "axis")
    step = next(each for each in (10, 30, 60, 120, 300, 600) if last / each <= 10)
    for second in range(0, int(last) + 1, step):
        picture.text(across(second), bottom + 16, f"{second} s", anchor="middle")
    for number, kind in enumerate(kinds):
        y = bottom + 28 + 16 * number
        picture.text(LEFT - 8, y + 9, kind, anchor="end")
        for fault in faults:
            if fault["fault"] == kind:
                picture.box(across(fault["begin"]), y, across(fault["end"]) - across(fault["begin"]), 9, "lane")
    picture.save(path)


def convergence(times, path):
    """The time until all nodes had all writes, after each round of faults, in the order of the rounds."""
    bottom = 190
    picture = Picture(bottom + 40, "Seconds from the end of the faults until all nodes had all writes, for each round")
    highest = max(1, math.ceil(max(times)))
    up = lambda seconds: bottom - (bottom - TOP) * seconds / highest  # noqa: E731
    step = max(1, math.ceil(highest / 6))
    for second in range(0, highest + 1, step):
        picture.line(LEFT, up(second), WIDE - RIGHT, up(second), "grid")
        picture.text(LEFT - 8, up(second) + 4, f"{second}", anchor="end")
    wide = (WIDE - LEFT - RIGHT) / len(times)
    for number, seconds in enumerate(times):
        picture.box(LEFT + wide * (number + 0.2), up(seconds), wide * 0.6, bottom - up(seconds), "bar")
        picture.text(LEFT + wide * (number + 0.5), bottom + 16, str(number + 1), anchor="middle")
    picture.line(LEFT, bottom, WIDE - RIGHT, bottom, "axis")
    picture.text(WIDE / 2, bottom + 34, "round", anchor="middle")
    picture.save(path)
