"""Sample data as a Waymark export, the same for each day that it is made for.

    sample.py DAY                       six habits over years, and trips around the day
    sample.py DAY HABITS ENTRIES TRIPS  as many of each, for measurements
"""

import datetime as dt
import json
import random
import sys
import uuid
from zoneinfo import ZoneInfo

BERLIN, TOKYO, ROME = "Europe/Berlin", "Asia/Tokyo", "Europe/Rome"


def identifier(*parts):
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(map(str, parts)))).upper()


def moment(day, clock, zone):
    return dt.datetime.combine(day, dt.time.fromisoformat(clock), ZoneInfo(zone)).isoformat()


def price(cost):
    return {"amount": cost[0], "currency": cost[1]} if cost else None


class Sample:
    def __init__(self, today):
        self.today = today
        self.random = random.Random(7)
        self.lists = {name: [] for name in (
            "trips", "lodgings", "transportations", "activities", "organizations", "addresses", "habits", "entries")}

    def add(self, into, /, *key, **fields):
        record = {"id": identifier(into, *key), **fields}
        self.lists[into].append(record)
        return record["id"]

    def habit(self, name, emoji, color, days, chance, weekdays=None, unit="", target=None, amount=None):
        """A habit that began `days` ago, with entries by chance; `amount` draws the amount of a day."""
        start = self.today - dt.timedelta(days=days)
        habit = self.add(
            "habits", name, name=name, emoji=emoji, colorHex=color, kind="numeric" if unit else "binary", unitLabel=unit,
            dailyTarget=target, schedule={"daysOfWeek": {"_0": weekdays}} if weekdays else {"daily": {}},
            startDate=moment(start, "08:00", BERLIN), displayOrder=len(self.lists["habits"]), isActive=True)
        mood = chance
        for day in (start + dt.timedelta(days=number) for number in range(days + 1)):
            mood = min(1, max(0, mood + self.random.uniform(-0.08, 0.08) + (chance - mood) * 0.1))
            is_due = not weekdays or day.isoweekday() in weekdays
            if self.random.random() >= (mood if is_due else 0.04):
                continue
            times = self.random.choice([1, 1, 2]) if unit else 1
            for part in range(times):
                self.add(
                    "entries", name, day, part, habitID=habit, timezone=BERLIN, day=str(day),
                    date=moment(day, f"{8 + 5 * part:02}:{self.random.randrange(60):02}", BERLIN),
                    value=round(amount(self.random) / times, 1) if unit else None)

    def organization(self, name, **address):
        address = self.add("addresses", name, **address) if address else None
        return self.add("organizations", name, name=name, address=address)

    def trip(self, name, days_ahead, days, **fields):
        first = self.today + dt.timedelta(days=days_ahead)
        last = first + dt.timedelta(days=days - 1)
        trip = self.add(
            "trips", name, name=name, startDate=f"{first}T00:00:00Z", endDate=f"{last}T00:00:00Z", **fields)
        return trip, lambda number: first + dt.timedelta(days=number)

    def item(self, kind, trip, name, start, end=None, cost=None, **fields):
        """An item; `start` and `end` are a day, a time of day and a zone."""
        self.add(
            kind, trip, name, trip=trip, name=name, start=moment(*start), startTZId=start[2],
            end=moment(*end) if end else None, endTZId=end[2] if end else None, cost=price(cost), **fields)

    def habits(self):
        self.habit("Morning pages", "✍️", "#8B5CF6", 880, 0.8)
        self.habit("Water", "💧", "#2DA9E3", 470, 0.95, unit="glasses", target=8,
                   amount=lambda chance: chance.choice([5, 6, 7, 8, 8, 8, 9, 10]))
        self.habit("Run", "🏃", "#E4572E", 650, 0.75, weekdays=[1, 3, 6], unit="km", target=5,
                   amount=lambda chance: chance.choice([3, 4, 5, 6, 8, 11]))
        self.habit("Call parents", "📞", "#F2A541", 1100, 0.85, weekdays=[7])
        self.habit("قراءة", "📖", "#1B998B", 250, 0.6, unit="صفحات", target=20,
                   amount=lambda chance: chance.randrange(5, 45))
        self.habit("Deep work", "🧠", "#3D5A80", 180, 0.7, weekdays=[1, 2, 3, 4, 5])

    def trips(self):
        niwa = self.organization("Hotel Niwa Tokyo", street="1-1-16 Kanda Misakicho", city="Tokyo", country="Japan")
        ryokan = self.organization("Ryokan Yamazaki", street="Gion 12", city="Kyoto", country="Japan")
        sole = self.organization("Albergo del Sole", street="Piazza della Rotonda 63", city="Rome", country="Italy")
        lufthansa, railway = self.organization("Lufthansa"), self.organization("JR Central")

        trip, day = self.trip("Japan in autumn", -3, 12, notes="Leaves, baths, and many trains.")
        self.item("transportations", trip, "Frankfurt → Tokyo", (day(0), "13:40", BERLIN), (day(1), "09:15", TOKYO),
                  ("842.50", "EUR"), type="plane", paid="infull", confirmation="K3X9QZ", organizationId=lufthansa)
        self.item("lodgings", trip, "Hotel Niwa Tokyo", (day(1), "15:00", TOKYO), (day(4), "11:00", TOKYO),
                  ("63000", "JPY"), paid="deposit", reservation="NW-20817", organizationId=niwa)
        self.item("activities", trip, "teamLab Planets", (day(2), "14:30", TOKYO), (day(2), "16:30", TOKYO),
                  ("3800", "JPY"), paid="infull", customLocationName="Toyosu, Tokyo")
        self.item("activities", trip, "Sumo practice", (day(3), "07:30", TOKYO), (day(3), "10:00", TOKYO),
                  ("12000", "JPY"))
        self.item("transportations", trip, "Nozomi to Kyoto", (day(4), "12:03", TOKYO), (day(4), "14:15", TOKYO),
                  ("14170", "JPY"), type="train", organizationId=railway)
        self.item("lodgings", trip, "Ryokan Yamazaki", (day(4), "15:00", TOKYO), (day(7), "11:00", TOKYO),
                  ("88500", "JPY"), organizationId=ryokan, notes="Dinner at 18:00; ask for the room with the garden.")
        self.item("activities", trip, "Fushimi Inari at dawn", (day(5), "05:45", TOKYO))
        self.item("activities", trip, "Tea ceremony", (day(6), "15:00", TOKYO), (day(6), "16:30", TOKYO),
                  ("6500", "JPY"))
        self.item("transportations", trip, "Tokyo → Frankfurt", (day(11), "12:50", TOKYO), (day(11), "18:20", BERLIN),
                  type="plane", organizationId=lufthansa)

        trip, day = self.trip("Rome with Ada", 40, 4, notes="Her first flight.")
        self.item("transportations", trip, "Munich → Rome", (day(0), "09:05", BERLIN), (day(0), "10:35", ROME),
                  ("119.90", "EUR"), type="plane", paid="infull")
        self.item("lodgings", trip, "Albergo del Sole", (day(0), "15:00", ROME), (day(3), "11:00", ROME),
                  ("612", "EUR"), organizationId=sole, reservation="Q-5513")
        self.item("activities", trip, "Colosseum", (day(1), "10:00", ROME), (day(1), "12:00", ROME), ("24", "EUR"))
        self.item("activities", trip, "Ostia Antica by bicycle", (day(2), "11:00", ROME), (day(2), "16:00", ROME))
        self.item("transportations", trip, "Night train home", (day(3), "19:10", ROME), (day(4), "07:20", BERLIN),
                  ("89", "EUR"), type="train")

        trip, day = self.trip("Surprise party", 90, 2, notes="Don't tell.", isProtected=True)
        self.item("activities", trip, "Cake", (day(0), "20:00", BERLIN))
        for name, ago, days in [("Lisbon", 120, 6), ("Norway by bus", 200, 15), ("Vienna", 320, 3),
                                ("Cabin on the lake", 420, 9), ("Sicily", 600, 14)]:
            trip, day = self.trip(name, -ago, days)
            self.item("lodgings", trip, f"{name}, flat", (day(0), "15:00", BERLIN), (day(days - 1), "11:00", BERLIN),
                      (str(80 * days), "EUR"))
        self.add("trips", "Patagonia", name="Patagonia, some day")

    def many(self, habits, entries, trips):
        for number in range(habits):
            self.habit(f"Habit {number}", "⭐", f"#{self.random.randrange(1 << 24):06X}", entries // habits - 1, 2,
                       unit="pages" if number % 2 else "", target=10 if number % 2 else None,
                       amount=lambda chance: chance.randrange(20))
        for number in range(trips):
            trip, day = self.trip(f"Trip {number}", 60 - 3 * number, 1 + number % 9)
            if number < 100:
                for hour in range(9, 13):
                    self.item("activities", trip, f"Activity {hour}", (day(0), f"{hour:02}:00", "UTC"),
                              cost=("12.50", "EUR"))

    def export(self):
        empty = ("attachments", "categories", "profiles", "settings")
        return {"schema": "waymark.export/2", "exportedAt": f"{self.today}T12:00:00Z", **self.lists,
                **{name: [] for name in empty}}


def sample(today, *numbers):
    """The export as a value that can be written as JSON."""
    made = Sample(today)
    if numbers:
        made.many(*numbers)
    else:
        made.habits()
        made.trips()
    return made.export()


if __name__ == "__main__":
    numbers = [int(number) for number in sys.argv[2:]]
    print(json.dumps(sample(dt.date.fromisoformat(sys.argv[1]), *numbers), ensure_ascii=False))
