"""Time in which other programs copy a folder of files from one process to another on this machine.

    files.py rsync SOURCE WORK        a daemon serves SOURCE, a client copies it with --fsync
    files.py syncthing SOURCE WORK    one instance scans SOURCE, another one gets everything from it

Prints a JSON object: `add`, the seconds until the first process knows the files (absent for rsync, which keeps no index),
and `sync`, the seconds from the connection until all files are durable at the other end. WORK must not exist; it is
removed. Exits with 3 if the program is not installed.
"""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import xml.etree.ElementTree as XML

DEADLINE = 600


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def eventually(what, question, pause=0.01):
    """Asks until the answer is true; returns it."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if answer := question():
            return answer
        time.sleep(pause)
    raise SystemExit(f"waited {DEADLINE} seconds until {what}")


def answers(port):
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex(("127.0.0.1", port)) == 0


def rsync(source, work):
    port = free_port()
    settings = work / "rsyncd.conf"
    settings.write_text(f"use chroot = no\naddress = 127.0.0.1\nport = {port}\n[files]\npath = {source}\n")
    daemon = subprocess.Popen(["rsync", "--daemon", "--no-detach", f"--config={settings}"])
    try:
        eventually("rsync listens", lambda: answers(port))
        begun = time.monotonic()
        subprocess.run(["rsync", "--fsync", "-a", f"rsync://127.0.0.1:{port}/files/", f"{work}/copy/"], check=True)
        return {"sync": time.monotonic() - begun}
    finally:
        daemon.terminate()
        daemon.wait()


class Syncthing:
    """One instance, which talks only to the other one on this machine."""

    def __init__(self, home, folder):
        self.home, self.folder = home, folder
        folder.mkdir(exist_ok=True)
        subprocess.run(
            ["syncthing", "generate", f"--home={home}", "--no-default-folder"], check=True, capture_output=True)
        self.port, self.gui = free_port(), free_port()
        self.id = subprocess.run(
            ["syncthing", f"--home={home}", "--device-id"], check=True, capture_output=True, text=True).stdout.strip()
        self.key = XML.parse(home / "config.xml").getroot().find("gui/apikey").text
        self.process = None

    def configure(self, other=None):
        tree = XML.parse(self.home / "config.xml")
        root = tree.getroot()
        for folder in root.findall("folder"):
            root.remove(folder)
        folder = XML.SubElement(root, "folder", id="files", path=str(self.folder), type="sendreceive",
                                rescanIntervalS="0", fsWatcherEnabled="false")
        XML.SubElement(folder, "device", id=self.id)
        if other:
            XML.SubElement(folder, "device", id=other.id)
            entry = next((each for each in root.findall("device") if each.get("id") == other.id), None)
            if entry is None:
                entry = XML.SubElement(root, "device", id=other.id)
            for address in entry.findall("address"):
                entry.remove(address)
            XML.SubElement(entry, "address").text = f"tcp://127.0.0.1:{other.port}"
        root.find("gui/address").text = f"127.0.0.1:{self.gui}"
        options = root.find("options")
        values = {
            "listenAddress": f"tcp://127.0.0.1:{self.port}", "globalAnnounceEnabled": "false",
            "localAnnounceEnabled": "false", "relaysEnabled": "false", "natEnabled": "false", "urAccepted": "-1",
            "crashReportingEnabled": "false", "autoUpgradeIntervalH": "0", "startBrowser": "false",
            "reconnectionIntervalS": "1",
        }
        for name, value in values.items():
            for each in options.findall(name):
                options.remove(each)
            XML.SubElement(options, name).text = value
        tree.write(self.home / "config.xml")

    def start(self):
        environment = os.environ | {"STNODEFAULTFOLDER": "1", "STNOUPGRADE": "1"}
        with open(self.home / "log", "w") as log:
            self.process = subprocess.Popen(
                ["syncthing", "serve", f"--home={self.home}", "--no-browser"], stdout=log, stderr=log,
                env=environment)
        eventually("Syncthing serves", lambda: answers(self.gui))

    def ask(self, path, method="GET"):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.gui}/rest/{path}", headers={"X-API-Key": self.key}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def status(self):
        return self.ask("db/status?folder=files")

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()


def syncthing(source, work):
    count, size = 0, 0
    for file in source.iterdir():
        count, size = count + 1, size + file.stat().st_size
    first, other = Syncthing(work / "first", source), Syncthing(work / "other", work / "copy")
    first.configure(other)
    other.configure(first)
    try:
        begun = time.monotonic()
        first.start()

        def is_scanned():
            status = first.status()
            return status["state"] == "idle" and status["localBytes"] == size

        eventually("Syncthing has scanned the files", is_scanned)
        added = time.monotonic() - begun
        other.start()
        eventually("both are connected", lambda: any(
            each["connected"] for each in other.ask("system/connections")["connections"].values()), 0.002)
        begun = time.monotonic()

        def has_all():
            status = other.status()
            return status["localFiles"] == count and status["localBytes"] == size and status["needBytes"] == 0

        eventually("Syncthing has copied the files", has_all)
        return {"add": added, "sync": time.monotonic() - begun}
    finally:
        for each in (first, other):
            each.stop()
        shutil.rmtree(source / ".stfolder", ignore_errors=True)


def main():
    tool, source, work = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()
    if shutil.which(tool) is None:
        print(f"{tool} is not installed", file=sys.stderr)
        sys.exit(3)
    work.mkdir(parents=True)
    try:
        print(json.dumps({"rsync": rsync, "syncthing": syncthing}[tool](source, work)))
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
