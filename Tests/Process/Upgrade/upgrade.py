"""Alice and Carol have the present program, Bob an older one that knows no activities and no reservations.

Alice and Carol never connect to each other, so everything that they exchange passes through Bob. At the end Bob's
program is replaced by the present one.
"""

import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time
from contextlib import contextmanager

from catalogue import ACTIVITY, KINDS, LODGING, uuid_bytes
from circle_of_nodes import Circle
from compare import compare_conflicts, compare_lists, compare_status, compare_store, expect
from node import BINARY

OLDER = os.environ["WAYMARK_OLDER"]
RESERVATION = 10


def step(text):
    print(f"ok  {text}", flush=True)


@contextmanager
def older_catalogue():
    """The registry of the older program."""
    activity, reservation = KINDS.pop(ACTIVITY), KINDS[LODGING].fields.pop(RESERVATION)
    try:
        yield
    finally:
        KINDS[ACTIVITY], KINDS[LODGING].fields[RESERVATION] = activity, reservation
        for table in (KINDS, KINDS[LODGING].fields):
            for number in sorted(table):
                table[number] = table.pop(number)


class Upgrade:
    def __init__(self, stage):
        self.circle = Circle(stage, ("alice", "bob", "carol"), {"bob": OLDER})
        self.alice, self.bob, self.carol = self.circle.nodes
        self.alice.ask("peers.pause", peer="carol")
        self.carol.ask("peers.pause", peer="alice")

    def add(self, node, kind, *pairs):
        return node.ask(f"{kind}.add", fields=[pair.split("=", 1) for pair in pairs])["id"]

    def edit(self, node, kind, record, *pairs):
        node.ask(f"{kind}.edit", id=record, fields=[pair.split("=", 1) for pair in pairs])

    def meet(self):
        """Waits until all three hold the same. Alice and Carol are connected to Bob alone."""
        end = time.monotonic() + 40
        while True:
            states = [node.ask("status")["lanes"] for node in self.circle.nodes if node.is_running]
            if len({(state["records"]["digest"], state["settings"]["digest"]) for state in states}) == 1:
                break
            assert time.monotonic() < end, f"the three do not hold the same: {states}"
            time.sleep(0.1)
        models = [compare_store(node.store, node.name)[1] for node in (self.alice, self.carol)]
        with older_catalogue():
            _, bob = compare_store(self.bob.store, "bob")
            compare_status(self.bob.ask("status"), bob, "bob")
            compare_conflicts(self.bob.ask("conflicts.list"), bob, "bob")
        for node, model in zip((self.alice, self.carol), models):
            compare_status(node.ask("status"), model, node.name)
            compare_conflicts(node.ask("conflicts.list"), model, node.name)
            compare_lists(node, model, node.name)
        expect(set(bob.sets), set(models[0].sets), "bob's change sets")
        return models[0]

    # MARK: The story

    def relay(self):
        self.trip = self.add(self.alice, "trip", "name=Rome")
        self.lodging = self.add(self.alice, "lodging", f"trip={self.trip}", "name=Casa Rosa", "reservation=R-17",
                                "cost=120.50", "currency=EUR")
        self.activities = [
            self.add(self.alice, "activity", f"trip={self.trip}", f"name=Walk {number}", "cost=1.25", "currency=EUR")
            for number in range(5)]
        file = self.circle.stage / "ticket.txt"
        file.write_text("two seats")
        self.add(self.alice, "attachment", f"activity={self.activities[0]}", f"file={file}")
        self.meet()
        shown = self.carol.ask("activity.show", id=self.activities[4])
        expect((shown["name"], shown["cost"]), ("Walk 4", {"amount": "1.25", "currency": "EUR"})
               if type(shown["cost"]) is dict else ("Walk 4", "1.25"), "an activity that went through bob")
        expect(self.carol.ask("lodging.show", id=self.lodging)["reservation"], "R-17", "a field that went through bob")
        step("activities and reservations go through the older program, and count in its digest")

    def work(self):
        """The older program edits records that it knows."""
        self.edit(self.bob, "lodging", self.lodging, "name=Casa Verde", "notes=late arrival")
        for words in (["status"], ["trip", "list"], ["lodging", "list"], ["lodging", "show", self.lodging],
                      ["trip", "show", self.trip], ["trip", "timeline", self.trip], ["conflicts"]):
            self.bob.run(*words)
        self.meet()
        shown = self.alice.ask("lodging.show", id=self.lodging)
        expect((shown["name"], shown["reservation"]), ("Casa Verde", "R-17"), "a lodging that bob has edited")
        step("an edit by the older program keeps a field that it does not know")

    def undo(self):
        """The older program undoes an operation on records that it does not know."""
        extra = self.add(self.alice, "activity", f"trip={self.trip}", "name=Mistake")
        self.meet()
        [operation] = [each["id"] for each in self.bob.ask("history", limit="1")["operations"]]
        self.bob.ask("undo", operation=operation)
        self.meet()
        assert all(item["id"] != extra for item in self.carol.ask("activity.list")["activities"])
        step("the older program undoes an operation on records that it does not know")

    def conflict(self):
        """While Bob is away, Alice and Carol change the same activity and the reservation of a lodging, and one
        record is deleted."""
        self.bob.end()
        self.edit(self.alice, "activity", self.activities[1], "name=Climb")
        self.edit(self.carol, "activity", self.activities[1], "name=Swim")
        self.edit(self.alice, "lodging", self.lodging, "reservation=R-18")
        self.edit(self.carol, "lodging", self.lodging, "reservation=R-19")
        self.alice.ask("activity.delete", id=self.activities[2])
        self.carol.ask("activity.delete", id=self.activities[3])
        self.edit(self.alice, "activity", self.activities[3], "notes=bring water")
        self.bob.start()
        model = self.meet()
        reasons = sorted(each.reason for each in model.conflicts)
        expect(reasons, ["edit-lost-to-delete", "field", "field"], "conflicts")
        step("conflicts, deletions and edits of what the older program does not know are kept by it")
        self.bob.end(signal.SIGKILL)
        self.bob.start()
        self.meet()

    def hide(self):
        """A deletion by the older program hides children that it does not know."""
        trip = self.add(self.carol, "trip", "name=Oslo")
        self.activity = self.add(self.carol, "activity", f"trip={trip}", "name=Ski")
        self.meet()
        self.bob.ask("trip.delete", id=trip)
        self.meet()
        assert all(item["id"] != self.activity for item in self.alice.ask("activity.list")["activities"])
        step("a trip that the older program deletes takes with it what that does not know")

    def upgrade(self):
        before = self.bob.ask("status")["lanes"]
        self.bob.end()
        self.bob.binary = BINARY
        self.bob.start()
        snapshot, model = compare_store(self.bob.store, "bob")
        after = self.bob.ask("status")
        for lane in ("settings", "records"):
            expect(after["lanes"][lane]["digest"], before[lane]["digest"], f"bob's digest of {lane} after the upgrade")
            expect(after["lanes"][lane]["changeSets"], before[lane]["changeSets"], f"bob's change sets of {lane}")
        compare_status(after, model, "bob")
        compare_conflicts(self.bob.ask("conflicts.list"), model, "bob")
        compare_lists(self.bob, model, "bob")
        assert (ACTIVITY, uuid_bytes(self.activities[0])) in snapshot.rows
        expect(self.bob.ask("activity.list"), self.alice.ask("activity.list"), "activities on bob after the upgrade")
        expect(self.bob.ask("trip.list"), self.alice.ask("trip.list"), "trips on bob after the upgrade")
        step("opened by the present program, everything is in its table; digest and log are as they were")

    def go_on(self):
        self.edit(self.bob, "activity", self.activities[1], "name=Dive")
        end = time.monotonic() + 40
        while len({node.ask("status")["lanes"]["records"]["digest"] for node in self.circle.nodes}) > 1:
            assert time.monotonic() < end, "the three do not hold the same after the upgrade"
            time.sleep(0.1)
        for node in self.circle.nodes:
            _, model = compare_store(node.store, node.name)
            compare_conflicts(node.ask("conflicts.list"), model, node.name)
            expect(node.ask("activity.show", id=self.activities[1])["name"], "Dive", f"the activity on {node.name}")
        step("and an edit of what was unknown closes the conflict everywhere")


def main():
    stage = pathlib.Path(tempfile.mkdtemp(prefix="wm-upgrade-", dir="/tmp"))
    story = None
    try:
        story = Upgrade(stage)
        story.relay()
        story.work()
        story.undo()
        story.conflict()
        story.hide()
        story.upgrade()
        story.go_on()
    except BaseException as error:
        print(f"failed; files are kept in {stage}: {error}", file=sys.stderr, flush=True)
        raise
    finally:
        if story is not None:
            story.circle.end()
    shutil.rmtree(stage)
    print("all well")


main()
