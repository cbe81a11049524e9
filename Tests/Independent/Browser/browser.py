"""A headless Chromium, driven over a pipe by the DevTools protocol. Needs only Python and Debian's package chromium.

    with Browser() as browser:
        page = browser.open("file:///tmp/page.html", width=360, dark=True)
        page.wait("document.title === 'Atlas'", "the title")
"""

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time


class Failed(Exception):
    """The page did not do what was expected."""


def program():
    """The path of the browser; None if there is none."""
    return next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)


class Browser:
    def __init__(self, *more):
        """`more` are further options of the browser."""
        self.profile = tempfile.mkdtemp(prefix="waymark-browser-")
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()

        def connect():
            # The browser reads commands from descriptor 3 and writes to descriptor 4.
            first, second = os.dup(to_browser), os.dup(from_browser)
            os.dup2(first, 3)
            os.dup2(second, 4)

        options = [
            "--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
            "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
            "--disable-extensions",
            # A container may not allow the sandbox, and nothing but our own pages is opened.
            "--no-sandbox", f"--user-data-dir={self.profile}", *more,
        ]
        self.process = subprocess.Popen(
            [program(), *options, "about:blank"], preexec_fn=connect, close_fds=False, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.number = 0
        self.answers = {}
        self.events = []
        self.pages = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.output)
        os.close(self.input)
        shutil.rmtree(self.profile, ignore_errors=True)

    def send(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        return self.number

    def call(self, method, session=None, seconds=30, **parameters):
        number = self.send(method, session, **parameters)
        end = time.monotonic() + seconds
        while number not in self.answers:
            self.receive(end, method)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise Failed(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def receive(self, end, purpose):
        """Reads one message; waits until `end`."""
        import select

        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.input], [], [], left)[0]:
                raise Failed(f"the browser did not answer in time: {purpose}")
            data = os.read(self.input, 1 << 20)
            if not data:
                raise Failed("the browser ended")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        if "id" in message:
            self.answers[message["id"]] = message
        else:
            self.events.append(message)

    def close_pages(self):
        """Closes all pages that were opened."""
        for page in self.pages:
            self.call("Target.closeTarget", targetId=page.target)
        self.pages = []

    def open(self, address, **view):
        """Opens an address in a tab of its own, with cookies of its own unless `context` is that of another page."""
        context = view.pop("context", None) or self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, context, target)
        self.pages.append(page)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.view(**view)
        page.go(address)
        return page


class Page:
    def __init__(self, browser, session, context, target):
        self.browser, self.session, self.context, self.target = browser, session, context, target

    def call(self, method, seconds=30, **parameters):
        return self.browser.call(method, self.session, seconds, **parameters)

    def view(self, width=1280, height=900, dark=False, media="", scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media, features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def activate(self):
        """Brings the tab to the front; the others are hidden then."""
        self.browser.call("Target.activateTarget", targetId=self.target)

    def go(self, address):
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'", f"{address} to load")

    def eval(self, script):
        """The value of an expression, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Failed(f"{script}: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def wait(self, script, purpose, seconds=60):
        """Waits until an expression is true; returns its value, and after how many seconds it was true."""
        begin = time.monotonic()
        while True:
            try:
                value = self.eval(script)
            except Failed:
                value = None  # The page is being replaced.
            if value:
                return value, time.monotonic() - begin
            if time.monotonic() - begin > seconds:
                raise Failed(f"waited {seconds} s in vain for {purpose}")
            time.sleep(0.02)

    def click(self, script, purpose="an element"):
        """Clicks the element that an expression returns, as a person does: at its place on the screen."""
        box, _ = self.wait(
            f"""(async () => {{
              const find = () => {script};
              find()?.scrollIntoView({{ block: "center" }});
              for (let frame = 0; frame < 3; frame += 1) await new Promise((done) => requestAnimationFrame(done));
              const box = find()?.getBoundingClientRect();
              if (!box) return null;
              const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
              return find().contains(document.elementFromPoint(x, y)) ? [x, y] : null;
            }})()""", purpose)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def key(self, name, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def text(self):
        return self.eval("document.body.innerText")

    def picture(self, path, whole=False):
        options = {"captureBeyondViewport": whole}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 12000), "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", **options)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def pdf(self, path):
        data = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def take(self, *methods):
        """The events of this page with one of these methods since the last call, which removes all of them."""
        mine = [event for event in self.browser.events if event.get("sessionId") == self.session]
        self.browser.events = [event for event in self.browser.events if event.get("sessionId") != self.session]
        return [event["params"] for event in mine if event["method"] in methods]

    def errors(self):
        """Messages of the console and exceptions, since the last call of this or of `take`."""
        self.eval("0")
        events = self.take("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [json.dumps(event)[:400] for event in events]
