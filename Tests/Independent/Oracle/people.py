"""Actions of people on one node: each is a request and what it should write. One seed makes all choices."""

from catalogue import (
    ACTIVITY, CATEGORY, HABIT, KINDS, LODGING, LOG, NONE_ID, ORGANIZATION, OWNERS, PROFILE, PROFILE_ID, SETTING,
    TRANSPORTATION, TRIP, text_id, uuid_bytes, uuid_text)
from ledger import ANY, Wish

WORDS = [
    "Rome", "Oslo", "Test trip", "Łódź", "京都", "Run", "Read", "a", "Zoë", "quiet",
    "long word " * 8 + "end", "🚲 ride", "0", "null"]
DAYS = ["2026-05-01", "2026-05-02", "2026-05-03"]
KEYS = ["units", "theme", "firstDay", "colorScheme"]
TEXTS = {
    TRIP: ["name", "notes"], LODGING: ["name", "notes", "reservation"],
    TRANSPORTATION: ["name", "notes", "confirmation"], ACTIVITY: ["name", "notes", "reservation"],
    ORGANIZATION: ["name", "phone", "email"], HABIT: ["name", "notes", "unitLabel"],
    CATEGORY: ["name", "displayName"], LOG: [], 7: ["fileDescription"]}
NEEDED = ("name",)


class People:
    def __init__(self, rng, stage):
        self.rng, self.stage = rng, stage
        self.counter = 0

    def text(self):
        self.counter += 1
        return f"{self.rng.choice(WORDS)} {self.rng.randrange(4) if self.rng.random() < 0.3 else self.counter}"

    def pick(self, look, kind):
        """A visible record of a kind, usually one of the first few, so that people edit the same ones."""
        ids = sorted(look.visible(kind) - {NONE_ID})
        if not ids:
            return None
        return self.rng.choice(ids[:6] if self.rng.random() < 0.6 else ids)

    # MARK: Records

    def add(self, look):
        kind = self.rng.choices(
            [TRIP, LODGING, TRANSPORTATION, ACTIVITY, ORGANIZATION, HABIT, CATEGORY, LOG, 7],
            [4, 3, 2, 4, 2, 3, 1, 2, 1])[0]
        pairs, fields = [], {0: True}
        if kind in OWNERS:
            trip = self.pick(look, TRIP)
            if trip is None:
                return None
            pairs.append(("trip", uuid_text(trip)))
            fields[1] = trip
            self.details(look, kind, pairs, fields)
        if kind == LOG:
            habit = self.pick(look, HABIT)
            if habit is None:
                return None
            pairs += [("habitID", uuid_text(habit)), ("date", self.rng.choice(DAYS)),
                      ("value", str(self.rng.randint(1, 9)))]
            fields.update({1: habit, 2: ANY, 3: ANY})
        if kind == 7:
            owner_kind = self.rng.choice(OWNERS)
            owner = self.pick(look, owner_kind)
            if owner is None:
                return None
            pairs += [(KINDS[owner_kind].name, uuid_text(owner)), ("file", str(self.file()))]
            fields.update({1: [owner_kind, owner], 9: ANY})
        if "name" in TEXTS[kind]:
            name = self.text()
            pairs.append(("name", name))
            fields[KINDS[kind].named("name").number] = name
        if kind == CATEGORY:
            pairs.append(("key", f"key-{self.rng.randrange(5)}"))
        return f"{KINDS[kind].name}.add", {"fields": pairs}, lambda done: [
            Wish(kind, uuid_bytes(done["id"]), fields)]

    def details(self, look, kind, pairs, fields):
        if self.rng.random() < 0.5:
            pairs += [("start", f"{self.rng.choice(DAYS)}T{self.rng.randrange(10, 24)}:00"), ("startTZ", "Europe/Rome")]
            fields[3] = ANY
        if self.rng.random() < 0.5:
            pairs += [("cost", f"{self.rng.randrange(500)}.{self.rng.randrange(100):02}"),
                      ("currency", self.rng.choice(["EUR", "USD"]))]
            fields[5] = ANY
        organization = self.pick(look, ORGANIZATION)
        if organization is not None and self.rng.random() < 0.4:
            pairs.append(("organizationId", uuid_text(organization)))
            fields[8] = organization

    def file(self):
        self.counter += 1
        path = self.stage / f"file-{self.counter}.txt"
        path.write_bytes(bytes(self.rng.randrange(256) for _ in range(self.rng.choice([10, 10, 10, 50_000]))))
        return path

    def edit(self, look):
        kind = self.rng.choices(list(TEXTS), [4, 2, 2, 3, 2, 3, 1, 2, 1])[0]
        record = self.pick(look, kind)
        if record is None:
            return None
        if kind == LOG:
            pairs, fields = [("value", str(self.rng.randint(1, 9)))], {3: ANY}
        else:
            names = self.rng.sample(TEXTS[kind], self.rng.randint(1, len(TEXTS[kind])))
            pairs = [(name, self.changed(name)) for name in names]
            fields = {KINDS[kind].named(name).number: text or None for name, text in pairs}
        if kind in OWNERS and self.rng.random() < 0.2:
            trip = self.pick(look, TRIP)
            if trip is not None:
                pairs.append(("trip", uuid_text(trip)))
                fields[1] = trip
        return f"{KINDS[kind].name}.edit", {"id": uuid_text(record), "fields": pairs}, self.of_change(
            (kind, record), fields)

    def changed(self, name):
        return "" if name not in NEEDED and self.rng.random() < 0.15 else self.text()

    @staticmethod
    def of_change(key, fields):
        """Only differences are written, so part of what was typed may be written."""
        return lambda done: [Wish(*key, fields, is_partial=True)] if done["changed"] else []

    def delete(self, look):
        kind = self.rng.choices(list(TEXTS), [3, 2, 2, 3, 2, 2, 1, 2, 1])[0]
        record = self.pick(look, kind)
        if record is None:
            return None
        arguments = {"id": uuid_text(record)} | ({"force": True} if kind == ORGANIZATION else {})
        return f"{KINDS[kind].name}.delete", arguments, lambda done: [Wish(kind, record, word="delete")]

    def restore(self, look):
        dead = sorted(key for key in look.dead() if key[0] in TEXTS)
        if not dead:
            return None
        kind, record = self.rng.choice(dead)
        return f"{KINDS[kind].name}.restore", {"id": uuid_text(record)}, lambda done: [
            Wish(kind, record, word="restore")]

    # MARK: Habits, settings, profile

    def day(self, look):
        habit = self.pick(look, HABIT)
        if habit is None:
            return None
        action = self.rng.choice(["tick", "tick", "untick", "set"])
        arguments = {"id": uuid_text(habit), "date": self.rng.choice(DAYS)}
        if action == "set":
            arguments["value"] = self.rng.choice(["0", "1"])
        return f"habit.{action}", arguments, lambda done: []

    def setting(self, look):
        key = self.rng.choice(KEYS)
        record = text_id(SETTING, key)
        if self.rng.random() < 0.25:
            return "settings.unset", {"key": key}, lambda done: (
                [Wish(SETTING, record, word="delete")] if done["changed"] else [])
        value = self.rng.choice(["dark", "light", "system"]) if key == "colorScheme" else self.text()
        return "settings.set", {"key": key, "value": value}, lambda done: (
            [Wish(SETTING, record, {2: ANY})] if done["changed"] else [])

    def profile(self, look):
        name = self.text()
        pairs = [("name", name)]
        if self.rng.random() < 0.5:
            pairs.append(("appearance", self.rng.choice(["dark", "light"])))
        return "profile.set", {"fields": pairs}, lambda done: (
            [Wish(PROFILE, PROFILE_ID, {2: name})] if done["changed"] else [])

    # MARK: Time travel

    def undo(self, look):
        operations = look.operations()
        if not operations:
            return None
        operation = self.rng.choice(operations[-8:])
        return "undo", {"operation": operation.hex(), "yes": self.rng.random() < 0.5}, lambda done: []

    def undo_last(self, look):
        return "undo", {"yes": self.rng.random() < 0.5}, lambda done: []

    def resolve(self, look):
        conflicts = look.conflicts()
        if not conflicts:
            return None
        self.conflict = self.rng.choice(conflicts)
        take = self.rng.choice(["winner", "loser"])
        return "conflicts.resolve", {"id": self.conflict["id"], "take": take}, lambda done: []

    # MARK: Whole states

    def cleanup(self, look):
        return "cleanup", {"yes": True}, lambda done: [
            Wish(TRIP, uuid_bytes(trip["id"]), word="delete") for trip in done["trips"]]

    def import_(self, look):
        files = sorted(self.stage.glob("export-*.json"))
        if not files:
            return None
        return "import", {"files": [str(self.rng.choice(files))]}, lambda done: []

    def export(self, look):
        self.counter += 1
        format_ = self.rng.choice(["ritualist", "traveling-snails"])
        return "export", {"format": format_, "output": str(self.stage / f"export-{self.counter}.json")}, lambda done: []

    def mirror(self, look, peers):
        arguments = {"from": self.rng.choice(peers), "yes": True}
        return "mirror", arguments | self.part(look), lambda done: []

    def assert_(self, look):
        return "assert", {"yes": True} | self.part(look), lambda done: []

    def part(self, look):
        choice = self.rng.random()
        if choice < 0.3:
            return {"only": self.rng.choice(["trip", "habit", "organization"])}
        trip = self.pick(look, TRIP)
        return {"trip": uuid_text(trip)} if choice < 0.5 and trip is not None else {}
