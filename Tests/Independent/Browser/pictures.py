"""Takes the pictures of the page that the README and the documentation show, from two running nodes."""

import datetime as dt
import json
import os
import sys

from browser import Browser
from devices import Circle
from file import open_trip
from sample import sample

FOLDER = os.path.join(os.path.dirname(__file__), "../../../Sources/Waymark/Waymark.docc/Resources")


def main():
    os.makedirs(FOLDER, exist_ok=True)
    with Circle() as circle, Browser() as browser:
        laptop = circle.found("laptop")
        data = circle.path("sample.json")
        with open(data, "w") as file:
            json.dump(sample(dt.datetime.now(dt.timezone.utc).date()), file)
        laptop.run("import", data)
        circle.pair(laptop, "phone")
        for dark in (False, True):
            page = browser.open(laptop.json("page", "--live")["link"], width=1280, height=860, dark=dark, scale=1.5)
            page.wait("document.getElementById('state')?.textContent.includes('In sync')", "both devices to be in sync")
            take(page, "page", dark)
            open_trip(page, "Japan in autumn")
            page.eval("document.querySelector('details.trip[open]').scrollIntoView()")
            take(page, "trip", dark)
            browser.close_pages()


def take(page, name, dark):
    page.eval("new Promise((done) => setTimeout(done, 3000))")  # The marks of changes fade.
    path = os.path.join(FOLDER, f"{name}{'~dark' if dark else ''}.png")
    page.picture(path)
    print(f"{os.path.relpath(path)}: {os.path.getsize(path) // 1024} KiB")


if __name__ == "__main__":
    sys.exit(main())
