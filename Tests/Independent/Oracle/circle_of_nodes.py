"""Nodes of one circle with premium, all of them running and with sync on."""

import threading
import time

from compare import Difference
from node import BINARY, Node

NAMES = ("alice", "bob", "carol", "dave", "erin")


class Circle:
    def __init__(self, stage, names=NAMES, binaries=None):
        self.stage = stage
        self.nodes = [Node(stage, name, (binaries or {}).get(name, BINARY)) for name in names]
        try:
            self.found()
        except BaseException:
            self.end()
            raise

    def found(self):
        founder, *others = self.nodes
        issuer = str(self.stage / "issuer")
        founder.run("issuer", "init", issuer)
        founded = founder.run("init", "--name", founder.name, "--issuer", f"{issuer}.pub")
        founder.device, self.id = founded["device"], founded["circle"]
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
        certificate = str(self.stage / "certificate")
        founder.run("issuer", "issue", "--key", issuer, "--circle", self.id, "--until", until, "--output", certificate)
        founder.run("entitlement", "install", certificate)
        founder.start()
        founder.ask("sync.on")
        errors = []
        threads = [threading.Thread(target=self.join, args=(node, errors)) for node in others]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors, errors
        self.settle()

    def join(self, node, errors):
        try:
            ticket = self.nodes[0].run("invite", "--role", "admin", json_wanted=False)
            node.device = node.run("join", "-", "--name", node.name, "--yes", input=ticket)["device"]
            node.start()
            node.ask("sync.on")
        except Exception as error:  # noqa: BLE001: reported by the main thread
            errors.append((node.name, error))

    def settle(self):
        """Waits until every node reports that it is in sync with every other, and all hold the same."""
        end = time.monotonic() + 60
        states = None
        while time.monotonic() < end:
            for node in self.nodes:
                node.ask("sync.now")
            states = [node.ask("status") for node in self.nodes]
            names = {node.name for node in self.nodes}
            peers = [{p["name"]: p["state"] for p in state["peers"] if p["name"] in names} for state in states]
            everybody = all(len(each) == len(names) - 1 for each in peers)
            agree = len({tuple(lane["digest"] for lane in state["lanes"].values()) for state in states}) == 1
            quiet = all(state == "in_sync" for each in peers for state in each.values())
            quiet = quiet and not any(lane["parked"] for state in states for lane in state["lanes"].values())
            # An override that waits for change sets has not written its difference yet.
            quiet = quiet and not any(
                notice["reason"] == "override_waiting" for state in states for notice in state["notices"])
            if everybody and agree and quiet:
                return
            time.sleep(0.1)
        lines = [f"{s['name']}: {s['lanes']} " + str([(p["name"], p["state"], p["reason"]) for p in s["peers"]])
                 for s in states]
        raise Difference("the nodes did not get in sync within 60 s:\n" + "\n".join(lines))

    def end(self):
        for node in self.nodes:
            if node.process is not None:
                node.process.kill()
                node.process.wait()
