"""The page that `waymark page` writes, as a person sees it in a browser."""

import datetime as dt
import json
import os
import re

from browser import Browser, program
from checks import check, equal, expect, run
from devices import Circle
from sample import sample

TODAY = dt.datetime.now(dt.timezone.utc).date()


class World:
    """One device with sample data, and its page."""

    def __init__(self, browser, circle):
        self.browser, self.circle = browser, circle
        self.device = circle.found("Atlas")
        data = circle.path("sample.json")
        with open(data, "w") as file:
            json.dump(sample(TODAY), file)
        self.device.run("import", data)
        self.page = self.write("page.html")

    def write(self, name, *options):
        path = self.circle.path(name)
        self.device.run("page", "--output", path, *options)
        return path

    def open(self, path=None, **view):
        return self.browser.open(f"file://{path or self.page}", **view)


def open_trip(page, name):
    page.eval(f"""[...document.querySelectorAll('details.trip')]
        .find(trip => trip.querySelector('h3').textContent.startsWith({json.dumps(name)})).open = true""")
    page.wait(f"""[...document.querySelectorAll('details.trip[open]')]
        .some(trip => trip.querySelector('h3').textContent.startsWith({json.dumps(name)}) && trip.querySelector('.line'))""",
              f"the timeline of {name}")


@check
def loads_nothing(world):
    """the page makes no request and reports no error"""
    page = world.open()
    asked = [event["request"]["url"] for event in page.take("Network.requestWillBeSent")]
    asked = [address for address in asked if not address.startswith("data:")]
    expect(all(address == f"file://{world.page}" for address in asked), f"requests: {asked}")
    open_trip(page, "Japan in autumn")
    equal(page.errors(), [], "errors")


@check
def only_its_user_can_read_it(world):
    """only its user can read the file"""
    equal(oct(os.stat(world.page).st_mode & 0o777), "0o600", "mode")


@check
def replaces_only_pages(world):
    """an older page is replaced, another file only with --yes"""
    other = world.circle.path("precious.html")
    with open(other, "w") as file:
        file.write("PRECIOUS")
    world.write("page.html")
    world.device.run("page", "--output", other, code=7)
    with open(other) as file:
        equal(file.read(), "PRECIOUS", "the other file")


@check
def fits_every_width(world):
    """nothing is wider than the window, from a phone to a large screen"""
    page = world.open()
    for name in ("Japan in autumn", "Rome with Ada"):
        open_trip(page, name)
    for width in (320, 360, 768, 1280, 2560, 3840):
        page.view(width, 900)
        equal(page.eval("document.documentElement.scrollWidth"), width, f"width at {width}")


@check
def text_has_contrast(world):
    """all text has a contrast of at least 4.5 to 1, light and dark"""
    measure = """(() => {
      const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      const rgba = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data]; };
      const light = (rgb) => rgb.slice(0, 3).map((part) => part / 255)
        .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
      const bad = new Set();
      const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) {
        const element = walk.currentNode.parentElement;
        if (!walk.currentNode.data.trim() || element.closest('svg, script, noscript, .hidden, .skip, option, #tip')) continue;
        if (!element.checkVisibility()) continue;
        let back = [255, 255, 255, 0];
        for (let box = element; box && back[3] < 250; box = box.parentElement) back = rgba(getComputedStyle(box).backgroundColor);
        const [a, b] = [light(rgba(getComputedStyle(element).color)), light(back)];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5) bad.add(`${walk.currentNode.data.trim().slice(0, 40)}: ${contrast.toFixed(2)}`);
      }
      return [...bad];
    })()"""
    for dark in (False, True):
        page = world.open(dark=dark)
        open_trip(page, "Japan in autumn")
        equal(page.eval(measure), [], "too faint, " + ("dark" if dark else "light"))


@check
def controls_have_names(world):
    """everything that takes the focus has a name, and headings follow each other"""
    page = world.open()
    open_trip(page, "Japan in autumn")
    unnamed = page.eval("""[...document.querySelectorAll('button, a[href], input, select, [tabindex="0"], summary')].filter((element) =>
      !(element.getAttribute('aria-label') || element.textContent.trim() || element.labels?.length)).map((element) => element.outerHTML.slice(0, 80))""")
    equal(unnamed, [], "without a name")
    levels = page.eval("[...document.querySelectorAll('h1, h2, h3, h4')].map((element) => Number(element.tagName[1]))")
    equal(levels[0], 1, "the first heading")
    expect(all(after <= before + 1 for before, after in zip(levels, levels[1:])), f"levels of headings: {levels}")


@check
def map_is_read_by_keyboard(world):
    """the days of a habit can be read with the arrow keys"""
    page = world.open()
    known = {day["day"]: day for day in world.device.json("habit", "show", "Morning pages")["month"]}
    page.eval("""[...document.querySelectorAll('.habit')].find((card) => card.querySelector('h3').textContent.includes('Morning pages'))
        .querySelector('.map').focus()""")
    read = lambda: page.eval("document.activeElement.closest('.habit').querySelector('.readout').textContent")
    page.key("ArrowUp", 38)
    today = read()
    expect(str(TODAY.year) in today and today.startswith(TODAY.strftime("%a")), f"today: {today}")
    for back in range(1, min(TODAY.day, 8)):
        page.key("ArrowUp", 38)
        day = TODAY - dt.timedelta(days=back)
        word = "done" if known[str(day)]["done"] else "missed"
        equal(read(), f"{day.strftime('%a')} {day.day} {day.strftime('%b')} {day.year}: {word}", f"{day}")


@check
def unscheduled_days_are_no_misses(world):
    """a day on which a habit is not due is not a miss"""
    page = world.open()
    counted = page.eval("""(() => { const paths = [...[...document.querySelectorAll('.habit')].find((card) =>
      card.querySelector('h3').textContent.includes('Call parents')).querySelectorAll('.map path')];
      const count = (name) => (paths.find((path) => path.getAttribute('class') === name)?.getAttribute('d').match(/M/g) || []).length;
      return { free: count('free'), missed: count('l0'), done: count('l4') }; })()""")
    expect(counted["free"] > 250, f"days that are not due: {counted}")
    expect(counted["missed"] < 53, f"at most the Sundays are missed: {counted}")


@check
def years_can_be_chosen(world):
    """an earlier year of the habits can be chosen"""
    page = world.open()
    year = TODAY.year - 1
    page.eval(f"""(() => {{ const choice = document.getElementById('period'); choice.value = '{year}';
      choice.dispatchEvent(new Event('change')); }})()""")
    page.wait(f"document.getElementById('period').value === '{year}' && document.querySelector('.facts').textContent.includes('{year}')",
              "the facts of that year")


@check
def trip_is_a_timeline(world):
    """a trip shows local times, changes of the clock, days without plans and nights without a place"""
    page = world.open()
    open_trip(page, "Japan in autumn")
    text = page.eval("document.querySelector('details.trip[open] .line').innerText")
    for part in ["13:40 Europe/Berlin (UTC+1)", "09:15 Asia/Tokyo (UTC+9)", "11 h 35 min", "Check in: Hotel Niwa Tokyo", "3 nights", "deposit paid",
                 "63,000 JPY", "842.50 EUR", "Booking K3X9QZ", "Check out: Ryokan Yamazaki", "3 days", "nothing planned",
                 "No place to stay for 3 nights.", "Day 12"]:
        if part.startswith(("13:40", "09:15", "11 h")) and dst(TODAY):
            continue
        expect(part in text, f"{part!r} is not in the timeline:\n{text}")
    bars = page.eval("[...document.querySelectorAll('details.trip[open] .stay')].map((bar) => [bar.title, bar.style.gridRow, bar.offsetHeight > 50])")
    equal([bar[0].split(",")[0] for bar in bars], ["Hotel Niwa Tokyo", "Ryokan Yamazaki"], "bars")
    expect(all(bar[2] for bar in bars), f"bars have a height: {bars}")


def dst(day):
    """Whether the offsets of the sample differ from those of winter."""
    from zoneinfo import ZoneInfo

    start = dt.datetime.combine(day - dt.timedelta(days=3), dt.time(12), ZoneInfo("Europe/Berlin"))
    return start.utcoffset() != dt.timedelta(hours=1)


@check
def unusual_trips_are_shown(world):
    """a trip with items that have only an end, last for days, or have no end"""
    run = world.device.run
    run("trip", "add", "name=Edge")
    run("activity", "add", "trip=Edge", "name=Ends", "end=2026-12-01T10:00", "endTZ=Europe/Rome")
    run("activity", "add", "trip=Edge", "name=Cruise", "start=2026-12-02T10:00", "startTZ=Europe/Rome",
        "end=2026-12-07T10:00", "endTZ=Europe/Rome")
    run("lodging", "add", "trip=Edge", "name=Inn", "start=2026-12-01T15:00", "startTZ=Europe/Rome")
    page = world.open(world.write("edge.html", "--trip", "Edge"))
    text = page.text()
    for part in ("Ends", "until Tue 1 Dec 2026 10:00 Europe/Rome", "Cruise", "until Mon 7 Dec 10:00", "Check in: Inn"):
        expect(part in text, f"{part!r} is not shown:\n{text}")
    expect("nothing planned" not in text, f"a day of the cruise is called empty:\n{text}")
    expect(text.index("Day 1 · Tue 1 Dec") < text.index("Day 2 ·"), f"days:\n{text}")
    expect("No place to stay" not in text.split("Day 2 ·")[0], f"the night at the inn:\n{text}")
    equal(page.errors(), [], "errors")


@check
def the_strip_opens_trips(world):
    """a trip in the picture of an earlier year opens, with the group that it is in"""
    page = world.open()
    year = str((TODAY - dt.timedelta(days=600)).year)
    page.eval(f"""(() => {{ const choice = document.getElementById('trip-year'); choice.value = '{year}';
      choice.dispatchEvent(new Event('change')); }})()""")
    page.eval("[...document.querySelectorAll('.strip a')].find((link) => link.textContent.includes('Sicily')).dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }))")
    page.wait("[...document.querySelectorAll('details.trip[open] h3')].some((title) => title.textContent === 'Sicily')", "the trip to open")
    page.wait("document.activeElement.textContent.startsWith('Sicily')", "the focus to be on the trip")
    equal(page.eval("document.querySelectorAll('.changed').length"), 0, "parts that are marked as changed")


@check
def dark_pages_print_light(world):
    """a page that was switched to dark prints dark text on white paper"""
    page = world.open()
    page.eval("document.documentElement.dataset.theme = 'dark'")
    page.view(media="print")
    color = [int(part) for part in re.findall(r"\d+", page.eval("getComputedStyle(document.body).color"))[:3]]
    expect(max(color) < 100, f"the text is {color}")


@check
def protected_trips_are_closed(world):
    """details of a protected trip are only in the page of that trip"""
    with open(world.page) as file:
        text = file.read()
    expect("Surprise party" in text and "Cake" not in text and "Don't tell" not in text, "details are in the file")
    page = world.open(world.write("party.html", "--trip", "Surprise"))
    for part in ("Surprise party", "Cake", "Don't tell."):
        expect(part in page.text(), f"{part} is not shown")
    equal(page.eval("document.title"), "Surprise party", "title")
    for part in ("Atlas", "Japan", "Water"):
        expect(part not in page.eval("document.documentElement.textContent"), f"the page of one trip has {part}")


@check
def trips_are_found(world):
    """trips are found by name, place and country"""
    page = world.open()
    for text, names in [("vienna", ["Vienna"]), ("japan", ["Japan in autumn"]), ("colosseum", ["Rome with Ada"]), ("nowhere", [])]:
        page.eval(f"""(() => {{ const field = document.getElementById('filter'); field.value = '{text}';
          field.dispatchEvent(new Event('input')); }})()""")
        equal(page.eval("[...document.querySelectorAll('#trips details.trip h3')].map((title) => title.textContent)"), names, text)


@check
def one_trip_is_printed(world):
    """one trip is printed without the rest of the page, and the page is as before afterwards"""
    page = world.open()
    open_trip(page, "Rome with Ada")
    page.eval("""window.print = () => { window.printed = [...document.getElementById('main').children]
      .filter((element) => element.checkVisibility()).map((element) => element.id); }""")
    before = page.eval("document.getElementById('main').textContent")
    page.view(media="print")
    page.eval("document.querySelector('details.trip[open] button').click()")
    page.view()
    equal(page.eval("window.printed.length"), 1, "printed parts")
    expect(page.eval("window.printed[0]").startswith("trip-"), "the trip is printed")
    equal(page.eval("document.getElementById('main').textContent"), before, "the page afterwards")
    path = world.circle.path("page.pdf")
    page.pdf(path)
    expect(os.path.getsize(path) > 10_000, "the page prints")


@check
def hostile_names_are_text(world):
    """names with markup, scripts or marks of direction are shown as text"""
    hostile = ['<img src=x onerror="window.hacked=1">', "<script>window.hacked=1</script>", "</script><svg onload=window.hacked=1>",
               "\u202egnp.exe", "'\"><b>bold</b>", "x" * 900, "مرحبا بالعالم", "👩‍👩‍👧‍👦", "javascript:alert(1)", "{{document}}"]
    for name in hostile:
        world.device.run("trip", "add", f"name={name}", f"notes={name}", "startDate=2026-05-03", "endDate=2026-05-04")
    world.device.run("habit", "add", f"name={hostile[0]}", "colorHex=#FF0000", "emoji=<b>")
    world.device.run("organization", "add", f"name={hostile[1]}")
    page = world.open(world.write("hostile.html"), width=360)
    page.eval("document.querySelectorAll('details').forEach((element) => { element.open = true; })")
    page.eval("document.querySelectorAll('details').forEach((element) => { element.open = true; })")
    page.eval("new Promise((done) => setTimeout(done, 200))")
    equal(page.eval("window.hacked === undefined"), True, "no script of a name ran")
    equal(page.eval("document.querySelectorAll('#main img, #main script, #main b, #main iframe').length"), 0, "elements made by names")
    equal(page.eval("document.documentElement.scrollWidth"), 360, "width with a long name")
    shown = page.eval("document.body.innerText")
    expect('<img src=x onerror="window.hacked=1">' in shown, "the name is shown as it is")
    expect("\u202e" not in page.eval("document.body.textContent.replace(document.getElementById('document').textContent, '')"), "no mark of direction is shown")
    equal(page.errors(), [], "errors")


@check
def an_injected_script_does_not_run(world):
    """even markup that reached the page could run no script and load nothing"""
    page = world.open()
    page.eval("""(() => { const box = document.createElement('div'); document.body.append(box);
      box.innerHTML = '<img src="http://127.0.0.1:9/x.png" onerror="window.hacked=1"><a href="javascript:window.hacked=1" id=link>x</a><p style="color:red" id=styled>x</p>';
      document.getElementById('link').click(); })()""")
    page.eval("new Promise((done) => setTimeout(done, 300))")
    equal(page.eval("window.hacked === undefined"), True, "no handler ran")
    expect(page.eval("getComputedStyle(document.getElementById('styled')).color") != "rgb(255, 0, 0)", "an inline style took effect")
    blocked = [json.dumps(event) for event in page.take("Log.entryAdded", "Runtime.consoleAPICalled")]
    expect(any("Content Security Policy" in text or "Content-Security-Policy" in text for text in blocked), f"the policy was not applied: {blocked}")


@check
def an_empty_store_has_a_page(world):
    """a new device has a page too"""
    device = world.circle.found("Newcomer")
    path = world.circle.path("empty.html")
    device.run("page", "--output", path)
    page = world.open(path)
    for part in ("No habits yet.", "No trips yet.", "waymark invite", "only device of its circle"):
        expect(part in page.text(), f"{part} is not shown")
    equal(page.errors(), [], "errors")


@check
def both_values_of_a_conflict_are_shown(world):
    """two devices that changed the same field are shown with both values"""
    alice = world.circle.found("Alice")
    alice.run("trip", "add", "name=Lisbon")
    bob = world.circle.pair(alice, "Bob")
    for device in (alice, bob):
        device.stop()
    alice.run("trip", "edit", "Lisbon", "notes=by tram")
    bob.run("trip", "edit", "Lisbon", "notes=on foot")
    address = alice.start()
    bob.start("--peer", address)
    bob.run("wait", "--timeout", "30")
    path = world.circle.path("conflict.html")
    alice.run("page", "--output", path)
    page = world.open(path)
    text = page.text()
    for part in ("1 conflict", "by tram", "on foot", "In sync with Bob.", "Nothing would be lost."):
        expect(part in text, f"{part!r} is not shown:\n{text}")
    equal(page.eval("document.querySelectorAll('.graph circle').length"), 2, "devices in the picture")


if __name__ == "__main__":
    with Circle() as circle, Browser() as browser:
        run(World(browser, circle))
