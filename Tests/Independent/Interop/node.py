"""The command `waymark` and one running node, for the scenario."""

import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

BINARY = os.environ.get("WAYMARK", ".build/debug/waymark")


class Node:
    # Where nodes listen.
    listen = "127.0.0.1:0"

    def __init__(self, name):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="waymark-interop-"))
        self.home, self.issuer = self.folder / "home", self.folder / "issuer"
        self.command("issuer", "init", str(self.issuer))
        founded = self.json("init", "--name", name, "--issuer", f"{self.issuer}.pub")
        self.circle, self.device = founded["circle"], founded["device"]
        self.log = open(self.folder / "log", "w")
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [BINARY, "--home", self.home, "run", "--listen", self.listen, "--no-discovery"],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        assert select.select([self.process.stdout], [], [], 20)[0], "the node is not ready within 20 s"
        ready = self.process.stdout.readline().split()
        assert ready[:1] == ["ready"], f"said {ready} instead of ready"
        self.address = ready[1]

    def command(self, *words):
        done = subprocess.run([BINARY, "--home", self.home, *words], capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, f"waymark {' '.join(words)}: {done.returncode} {done.stderr}"
        return done.stdout.strip()

    def during(self, session, *words):
        """Runs a command during which the node asks the client; returns its exit code and document."""
        process = subprocess.Popen([BINARY, "--home", self.home, *words, "--json"], stdout=subprocess.PIPE, text=True)
        session.until(lambda: process.poll() is not None, 30, "the end of " + " ".join(words), 0.1)
        return process.returncode, json.loads(process.stdout.read())

    def json(self, *words):
        return json.loads(self.command(*words, "--json"))

    def stop(self):
        self.process.terminate()
        self.process.wait(20)

    def is_alive(self):
        return self.process.poll() is None

    def peer(self, client):
        rows = self.json("peers")["peers"]
        return next((row for row in rows if row["device"] == client.device.hex()), {"state": "unknown"})

    def stored(self):
        """State that a rejected message must not change."""
        lanes = self.json("status")["lanes"]
        return {lane: (row["changeSets"], row["parked"], row["digest"]) for lane, row in lanes.items()}

    def premium(self, *clients):
        """Premium for this node and these devices, by a certificate."""
        certificate = self.folder / "entitlement"
        devices = [word for each in [self.device, *(c.device.hex() for c in clients)] for word in ("--device", each)]
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
        self.command("issuer", "issue", "--key", str(self.issuer), "--circle", self.circle, *devices,
                     "--until", until, "--output", str(certificate), "--yes")
        self.command("entitlement", "install", str(certificate))
        self.command("sync", "on", "--yes")

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()
        shutil.rmtree(self.folder)
