"""The live page of real nodes, as a person uses it in a browser, and as others attack it."""

import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import time

from browser import Browser, Failed
from checks import check, equal, expect, run
from devices import Circle, Device, until

HABIT = "Read a page"


class World:
    """Two running nodes of one person, both with premium and sync, and the live page of the first."""

    def __init__(self, browser, circle):
        self.browser, self.circle = browser, circle
        self.alice = circle.found("Alice")
        self.alice.run("habit", "add", f"name={HABIT}", "kind=binary")
        self.alice.run("trip", "add", "name=Rome", "startDate=2026-05-02", "endDate=2026-05-06")
        self.bob = circle.pair(self.alice, "Bob")
        self.address = None

    def link(self, device=None):
        opened = (device or self.alice).json("page", "--live")
        self.address = opened["address"]
        return opened["link"]

    def open(self, device=None, **view):
        """Opens the live page of a device, and waits until it shows the document."""
        page = self.browser.open(self.link(device), **view)
        page.wait("document.getElementById('state') && location.hash === ''", "the live page")
        return page


def click_text(page, text, within="document"):
    page.click(f"""[...{within}.querySelectorAll('button')].find((button) => button.textContent.trim() === {json.dumps(text)})""", f"the button “{text}”")


@check
def link_works_once(world):
    """the link opens the page once, and the code leaves the address"""
    link = world.link()
    first = world.browser.open(link)
    first.wait("document.title.startsWith('Alice')", "the page")
    equal(first.eval("location.href"), world.address, "address")
    second = world.browser.open(link)
    second.wait("document.body.innerText.includes('was used already')", "the refusal")
    for secret in ("Alice", "Bob", "Rome", HABIT):
        expect(secret not in second.eval("document.documentElement.outerHTML"), f"{secret} is shown without a session")
    equal(first.errors(), [], "errors")


@check
def nothing_before_the_session(world):
    """without a session, the page says nothing about the node"""
    world.link()
    page = world.browser.open(world.address)
    page.wait("document.body.innerText.includes('waymark page --live')", "the page without a session")
    for secret in ("Alice", "Bob", "Rome", HABIT, "0.1"):
        expect(secret not in page.eval("document.documentElement.outerHTML"), f"{secret} is shown without a session")


@check
def a_change_elsewhere_appears(world):
    """a change on another node appears without a reload, and what was open stays open"""
    page = world.open()
    page.eval("""(() => { const trip = [...document.querySelectorAll('details.trip')].find((trip) => trip.textContent.includes('Rome'));
      for (let box = trip; box; box = box.parentElement) if (box.tagName === 'DETAILS') box.open = true; window.marked = true; })()""")
    page.eval("""(() => { const field = document.getElementById('filter'); field.focus(); field.value = 'o'; field.dispatchEvent(new Event('input')); })()""")
    world.bob.run("trip", "add", "name=Oslo", "startDate=2026-06-01", "endDate=2026-06-03")
    _, seconds = page.wait("document.getElementById('trips').textContent.includes('Oslo')", "the trip from Bob")
    print(f"        a trip added on Bob was on Alice's page {seconds:.2f} s after the command")
    equal(page.eval("window.marked"), True, "the page was not loaded again")
    equal(page.eval("document.activeElement.id"), "filter", "the focus")
    equal(page.eval("document.getElementById('filter').value"), "o", "the text of the filter")
    expect(page.eval("[...document.querySelectorAll('details.trip')].find((trip) => trip.textContent.includes('Rome')).open"), "the trip is still open")
    equal(page.errors(), [], "errors")


@check
def focus_and_caret_stay(world):
    """what has the focus keeps it through a change elsewhere, and so does the caret"""
    page = world.open()
    page.eval("""(() => { const field = document.getElementById('filter'); field.value = 'rome'; field.dispatchEvent(new Event('input'));
      field.focus(); field.setSelectionRange(2, 2); })()""")
    world.bob.run("trip", "add", "name=First", "startDate=2026-06-05", "endDate=2026-06-05")
    page.wait("document.getElementById('history').textContent.includes('First')", "the first trip")
    equal(page.eval("[document.activeElement.id, document.activeElement.selectionStart]"), ["filter", 2], "field and caret")
    page.eval("[...document.querySelectorAll('button')].find((button) => button.textContent === 'Pause').focus()")
    world.bob.run("trip", "add", "name=Second", "startDate=2026-06-06", "endDate=2026-06-06")
    page.wait("document.getElementById('history').textContent.includes('Second')", "the second trip")
    equal(page.eval("document.activeElement.textContent"), "Pause", "the focus")


@check
def many_tabs_follow(world):
    """seven tabs of one browser all follow, and one can act"""
    first = world.open()
    tabs = [first] + [world.browser.open(world.address, context=first.context) for _ in range(6)]
    for tab in tabs:
        tab.wait("document.getElementById('state') !== null", "a tab")
    world.bob.run("trip", "add", "name=Seven", "startDate=2026-06-07", "endDate=2026-06-07")
    for number, tab in enumerate(tabs):
        tab.activate()
        tab.wait("document.getElementById('history').textContent.includes('Seven')", f"the trip in tab {number + 1}")
    click_text(tabs[-1], "Undo", "document.querySelector('#history tbody tr')")
    for number, tab in enumerate(tabs):
        tab.activate()
        tab.wait("!document.getElementById('trips').textContent.includes('Seven')", f"the undo in tab {number + 1}")


@check
def a_double_click_acts_once(world):
    """a double click acts once, also if another element had the focus"""
    page = world.open()
    page.eval("document.getElementById('filter').focus()")
    page.eval("window.sent = 0; const ask = window.fetch; window.fetch = (path, options) => { if (path === '/action') window.sent += 1; return ask(path, options); }")
    click_text(page, "Pause")
    page.wait("document.querySelector('#circle tbody').textContent.includes('paused')", "the pause")
    page.eval("(() => { const button = [...document.querySelectorAll('button')].find((button) => button.textContent === 'Resume'); button.click(); button.click(); })()")
    page.wait("!document.querySelector('#circle tbody').textContent.includes('paused')", "the end of the pause")
    equal(page.eval("window.sent"), 2, "actions")
    world.alice.run("wait", "--timeout", "60")


@check
def a_habit_is_ticked(world):
    """a habit is ticked by a click"""
    page = world.open()
    page.click(f"document.querySelector('button[aria-label=\"Mark {HABIT} as done\"]')", "the mark")
    page.wait("document.querySelector('.today .mark.done') !== null", "the tick")
    equal([habit["done"] for habit in world.alice.json("today")["habits"]], [True], "done")


@check
def a_conflict_is_resolved(world):
    """a conflict is resolved by a click on the value to take"""
    world.alice.stop()
    world.bob.stop()
    world.alice.run("trip", "edit", "Rome", "notes=by tram")
    world.bob.run("trip", "edit", "Rome", "notes=on foot")
    address = world.alice.start()
    world.bob.start("--peer", address)
    world.bob.run("wait", "--timeout", "60")
    page = world.open()
    lost = world.alice.json("conflicts")["conflicts"][0]["losers"][0]["value"]
    page.wait(f"document.getElementById('circle').textContent.includes({json.dumps(lost)})", "the conflict")
    click_text(page, "Take this")
    page.wait("!document.querySelector('.side')", "the end of the conflict")
    equal(world.alice.json("conflicts")["conflicts"], [], "conflicts")
    equal(world.alice.json("trip", "show", "Rome")["notes"], lost, "the value")


@check
def an_operation_is_undone(world):
    """an operation is undone by a click"""
    world.alice.run("trip", "add", "name=Mistake")
    page = world.open()
    page.wait("document.getElementById('history').textContent.includes('Mistake')", "the operation")
    click_text(page, "Undo", "document.querySelector('#history tbody tr')")
    page.wait("document.getElementById('said').textContent.includes('Undone')", "the report")
    page.wait("!document.getElementById('trips').textContent.includes('Mistake')", "the end of the trip")
    expect("Mistake" not in world.alice.run("trip", "list"), "the trip is gone")


@check
def a_peer_is_paused(world):
    """a peer is paused and resumed"""
    page = world.open()
    click_text(page, "Pause")
    page.wait("document.querySelector('#circle tbody').textContent.includes('paused')", "the pause")
    equal(world.alice.json("peers")["peers"][0]["state"], "paused", "state")
    click_text(page, "Resume")
    page.wait("!document.querySelector('#circle tbody').textContent.includes('paused')", "the end of the pause")
    world.alice.run("wait", "--timeout", "60")


@check
def sync_is_turned_off_and_on(world):
    """sync is turned off and on, with the question that the command asks"""
    page = world.open()
    click_text(page, "Turn sync of records off")
    until(lambda: not world.alice.json("sync")["preference"], "sync to be off")
    click_text(page, "Turn sync of records on")
    page.wait("document.querySelector('dialog[open]') !== null || [...document.querySelectorAll('button')].some((button) => button.textContent === 'Turn sync of records off')", "the question")
    if page.eval("document.querySelector('dialog[open]') !== null"):
        click_text(page, "Yes")
    until(lambda: world.alice.json("sync")["preference"], "sync to be on")
    world.alice.run("wait", "--timeout", "60")


@check
def an_invitation_is_scanned(world):
    """an invitation is shown as a QR code that a camera can read, and admits a device"""
    page = world.open(width=900, height=1000)
    click_text(page, "Invite a device")
    page.wait("document.querySelector('dialog[open] .qr') !== null", "the code")
    ticket = page.eval("document.querySelector('dialog[open] p.small code').textContent")
    picture = world.circle.path("qr.png")
    page.picture(picture)
    if shutil.which("zbarimg"):
        read = subprocess.run(["zbarimg", "--quiet", "--raw", picture], capture_output=True, text=True).stdout.strip()
        equal(read.lower(), ticket.lower(), "the code that was read")
    carol = Device(world.circle.folder, "Carol")
    world.circle.devices.append(carol)
    carol.run("join", "-", "--name", "Carol", input=ticket)
    page.key("Escape", 27)
    page.wait("!document.querySelector('dialog')", "the end of the dialog")
    page.wait("document.getElementById('circle').textContent.includes('Carol')", "the new device")


@check
def hostile_names_arrive_as_text(world):
    """names that another device sends are shown as text"""
    page = world.open()
    name = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
    world.bob.run("trip", "add", f"name={name}", "startDate=2026-05-07", "endDate=2026-05-08")
    world.alice.run("rename", "--device", "Bob", "Bob </script><b>")
    page.wait("document.getElementById('trips').textContent.includes('window.hacked')", "the name")
    equal(page.eval("window.hacked === undefined && document.querySelectorAll('#main img, #main script, #main b').length === 0"), True, "nothing ran")
    world.alice.run("rename", "--device", "Bob </script><b>", "Bob")
    world.bob.run("trip", "delete", name)
    equal(page.errors(), [], "errors")


class Attacker:
    """A site of another origin, which runs a script against the live page."""

    def __init__(self, script):
        body = f"<!doctype html><title>attack</title><script>{script}</script>".encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}/"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@check
def another_origin_gets_nothing(world):
    """a page of another origin in the same browser reads nothing and changes nothing"""
    mine = world.open()
    before = world.alice.json("history", "--limit", "1")["operations"][0]["id"]
    script = """
      const target = %s, results = {};
      const attempt = async (name, work) => { try { results[name] = await work(); } catch (error) { results[name] = "blocked"; } };
      const text = (options, path) => async () => { const answer = await fetch(target + path, options); return `${answer.type} ${answer.status} ${(await answer.text()).length}`; };
      (async () => {
        const body = JSON.stringify({ action: "syncOff" });
        await attempt("read", text({ credentials: "include" }, "document"));
        await attempt("readWithHeader", text({ credentials: "include", headers: { "X-Waymark": "1" } }, "document"));
        await attempt("readOpaque", text({ credentials: "include", mode: "no-cors" }, "document"));
        await attempt("post", text({ method: "POST", credentials: "include", mode: "no-cors", body }, "action"));
        await attempt("postPlain", text({ method: "POST", credentials: "include", mode: "no-cors", headers: { "Content-Type": "text/plain" }, body }, "action"));
        await attempt("postJSON", text({ method: "POST", credentials: "include", headers: { "Content-Type": "application/json", "X-Waymark": "1" }, body }, "action"));
        await attempt("events", () => new Promise((done, failed) => { const source = new EventSource(target + "events", { withCredentials: true });
          source.onopen = () => done("open"); source.addEventListener("changed", () => done("event")); source.onerror = () => failed(); }));
        await attempt("frame", () => new Promise((done) => { const frame = document.createElement("iframe"); frame.src = target; frame.onload = () => {
          try { done(frame.contentDocument.body.innerText); } catch { done("blocked"); } }; document.body.append(frame); }));
        await attempt("script", () => new Promise((done, failed) => { const element = document.createElement("script"); element.src = target + "document"; element.onload = () => done("loaded"); element.onerror = failed; document.head.append(element); }));
        const form = document.createElement("form"); form.method = "POST"; form.enctype = "text/plain"; form.action = target + "action"; form.target = "sink";
        const field = document.createElement("input"); field.name = '{"action":"syncOff","x":"'; field.value = '"}'; form.append(field);
        const sink = document.createElement("iframe"); sink.name = "sink"; document.body.append(sink, form); form.submit();
        await new Promise((done) => setTimeout(done, 500));
        window.results = results;
      })();
    """ % json.dumps(world.address)
    attacker = Attacker(script)
    try:
        page = world.browser.open(attacker.address, context=mine.context)
        results, _ = page.wait("window.results", "the attack to end", seconds=60)
    finally:
        attacker.close()
    for name, result in results.items():
        expect(result in ("blocked", "", "opaque 0 0"), f"{name}: {result}")
    expect(world.alice.json("sync")["preference"], "sync was turned off by another origin")
    equal(world.alice.json("history", "--limit", "1")["operations"][0]["id"], before, "the newest operation")


@check
def rebinding_gets_nothing(world):
    """a name that resolves to this machine gets nothing, even with the code"""
    link = world.link()
    port, code = re.match(r"http://127\.0\.0\.1:(\d+)/#(.*)", link).groups()
    for name in ("attacker.test", "localhost"):
        try:
            page = world.browser.open(f"http://{name}:{port}/#{code}")
        except Failed:
            continue
        text = page.eval("document.documentElement.textContent")
        for secret in ("Alice", "Bob", "Rome", "Waymark", "waymark"):
            expect(secret not in text, f"{name} got {text[:200]}")
        answer = page.eval("fetch('/session', { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Waymark': '1' }, body: JSON.stringify({ code: location.hash.slice(1) }) }).then((answer) => answer.status, () => 0)")
        expect(answer in (0, 421), f"{name}: the exchange of the code answered {answer}")
    page = world.browser.open(link)
    page.wait("document.title.startsWith('Alice')", "the page, whose code was not used up")


@check
def a_session_is_ended(world):
    """a session is ended by the person, in all tabs, and a new link opens another one that follows"""
    page = world.open()
    other = world.browser.open(world.address, context=page.context)
    other.wait("document.getElementById('state') !== null", "the second tab")
    page.activate()
    click_text(page, "End this session")
    for tab in (page, other):
        tab.activate()
        tab.wait("document.body.innerText.includes('not open in this browser')", "the end of the session")
        expect("Rome" not in tab.eval("document.getElementById('main').textContent"), "the page still shows data")
    again = world.browser.open(world.link(), context=page.context)
    again.wait("document.getElementById('state') !== null", "the new session")
    world.bob.run("trip", "add", "name=Again", "startDate=2026-06-09", "endDate=2026-06-09")
    again.wait("document.getElementById('history').textContent.includes('Again')", "a change in the new session")


@check
def an_unended_session_stays(world):
    """a session that the node could not be asked to end stays open, and a new link opens the page without its key"""
    page = world.open()
    page.eval("(() => { const ask = window.fetch; window.fetch = (path, options) => path === '/leave' ? Promise.reject(new TypeError('apart')) : ask(path, options); })()")
    click_text(page, "End this session")
    page.wait("document.getElementById('said').textContent.includes('may still be open')", "the message")
    expect("Rome" in page.text(), "the page still shows what it had")
    equal(page.eval("fetch('/document', { headers: { 'X-Waymark': localStorage.getItem('waymark') } }).then((answer) => answer.status)"), 200, "the document")
    page.eval("localStorage.removeItem('waymark')")
    again = world.browser.open(world.link(), context=page.context)
    again.wait("document.getElementById('state') !== null", "the page")
    equal(again.eval("location.href"), world.address, "address")
    world.bob.run("trip", "add", "name=Later", "startDate=2026-06-10", "endDate=2026-06-10")
    again.wait("document.getElementById('history').textContent.includes('Later')", "a change in the new session")


@check
def a_stopped_node_is_told(world):
    """when the node stops, the page says so, and what it shows stays"""
    page = world.open()
    world.alice.stop()
    page.wait("document.getElementById('state').textContent.includes('No connection')", "the message")
    expect("Rome" in page.text(), "the page still shows what it had")
    address = world.alice.start()
    world.bob.stop()
    world.bob.start("--peer", address)
    world.alice.run("wait", "--timeout", "60")


@check
def memory_is_measured(world):
    """the memory of the node, with and without a page"""

    def private(device):
        with open(f"/proc/{device.node.pid}/smaps_rollup") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith(("Private_Clean", "Private_Dirty"))) / 1024

    before = private(world.bob)
    page = world.open(world.bob)
    world.alice.run("trip", "add", "name=Weight")
    page.wait("document.getElementById('history').textContent.includes('Weight')", "a change")
    opened = private(world.bob)
    print(f"        private memory of the node: {before:.1f} MiB without a page, {opened:.1f} MiB with one open")


if __name__ == "__main__":
    with Circle() as circle, Browser("--host-resolver-rules=MAP attacker.test 127.0.0.1") as browser:
        run(World(browser, circle))
