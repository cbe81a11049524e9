"""Writes schemas.json: schemas of apps, and which kinds a node learns from them.

The rules are those of Protocol/records.md, "Kinds of apps", written here from the page.
"""

import json
import pathlib
import re

from deterministic_cbor import write

TYPES = ["bool", "integer", "float", "text", "uuid", "timestamp", "instant", "dated instant", "money", "coordinate",
         "reference", "bytes", "any"]
TAKEN = {"id", "shortId", "kind", "fields", "conflicts", "deleted", "deletedAt", "deletedBy", "deletedByName",
         "hiddenBy", "output"}
WORDS = r"[a-z0-9]+(?:-[a-z0-9]+)*"


def names(name, kind):
    if kind == "timestamp":
        return [name, name + "UTC"]
    if kind in ("instant", "dated instant"):
        return [name, name + "TZId", name + "TZ", name + "UTC"] + ([name + "Day"] if kind == "dated instant" else [])
    if kind == "money":
        return [name, name + "Currency"]
    if kind == "coordinate":
        return [name, name + "Latitude", name + "Longitude"]
    if kind == "reference":
        return [name, (name[:-2] if name.endswith(("ID", "Id")) else name) + "Name"]
    return [name]


def is_kind(kind):
    number, name, plural, parent = kind[:4]
    if not 2048 <= number <= 4095 or name == plural:
        return False
    for text in (name, plural):
        if not re.fullmatch(r"(?=[a-z])" + WORDS, text) or "-" not in text or len(text.encode()) > 40:
            return False
    fields = [f for f in kind[6] if f[2] in TYPES]
    if not 1 <= len(fields) <= 64:
        return False
    numbers = [f[0] for f in fields]
    if len(set(numbers)) < len(numbers) or any(not 1 <= n <= 65535 for n in numbers):
        return False
    used = set(TAKEN)
    for field in fields:
        if not re.fullmatch(r"[a-z][A-Za-z0-9]*", field[1]) or len(field[1]) > 40:
            return False
        for text in names(field[1], field[2]):
            if text in used:
                return False
            used.add(text)
        words = field[6]
        if len(words) > 64 or any(not 1 <= len(w.encode()) <= 40 or re.search(r"[\x00-\x1f\x7f-\x9f]", w) for w in words):
            return False
    title = [f for f in fields if f[0] == kind[4]]
    if title and title[0][2] != "text":
        return False
    if parent is not None:
        field = [f for f in fields if f[0] == parent]
        return bool(field) and field[0][2] == "reference" and field[0][3] != number
    return True


def is_app(name):
    return len(name.encode()) <= 100 and bool(re.fullmatch(rf"{WORDS}(?:\.{WORDS})+", name))


def learned(app, kinds):
    if not is_app(app):
        return None
    found, numbers, texts = [], set(), set()
    for kind in kinds[:32]:
        if is_kind(kind) and kind[0] not in numbers and texts.isdisjoint(kind[1:3]):
            numbers.add(kind[0])
            texts.update(kind[1:3])
            found.append({"number": kind[0], "name": kind[1], "plural": kind[2], "parent": kind[3],
                          "fields": [[f[0], f[1], f[2]] for f in sorted(kind[6]) if f[2] in TYPES]})
    return sorted(found, key=lambda kind: kind["number"]) or None


def field(number, name, kind="text", referred=None, required=False, longest=None, words=(), *more):
    return [number, name, kind, referred, required, longest, list(words), *(more or [None])]


def kind(number=2417, name="packing-item", plural="packing-items", parent=None, title=None, order=(), fields=None, *more):
    return [number, name, plural, parent, title, list(order), fields or [field(1, "name")], *more]


APP = "com.example.packing"
TRIP = field(1, "trip", "reference", 1, True)
CASES = [
    ("one kind", APP, [kind()]),
    ("every type", APP, [kind(fields=[field(i + 1, "f" + "abcdefghijklm"[i], t, 1 if t == "reference" else None)
                                      for i, t in enumerate(TYPES)])]),
    ("a parent, a title and an order", APP, [kind(parent=1, title=2, order=[3, 2],
                                                  fields=[TRIP, field(2, "name"), field(3, "isPacked", "bool")])]),
    ("a field that refers to its own kind", APP, [kind(fields=[field(1, "outer", "reference", 2417)])]),
    ("words and a greatest length", APP, [kind(fields=[field(1, "weight", longest=80, words=["light", "heavy"])])]),
    ("the first and the last number", APP, [kind(2048), kind(4095, "packing-bag", "packing-bags")]),
    ("fields out of order", APP, [kind(fields=[field(9, "b"), field(2, "a")])]),
    ("a field of a type that is not known", APP, [kind(fields=[field(1, "name"), field(2, "shape", "polygon")])]),
    ("items more than are known", APP, [kind(2417, "packing-item", "packing-items", None, None, [],
                                             [field(1, "name", "text", None, False, None, [], "new", 7)], "new")]),
    ("a name of 40 bytes", APP, [kind(name="a-" + "b" * 38)]),
    ("an app whose parts begin with digits", "1and1.9to5-app", [kind()]),
    ("a name of 41 bytes", APP, [kind(name="a-" + "b" * 39)]),
    ("a number below the range", APP, [kind(2047)]),
    ("a number above the range", APP, [kind(4096)]),
    ("a name of one word", APP, [kind(name="item")]),
    ("a name with an upper-case letter", APP, [kind(name="Packing-item")]),
    ("a name that begins with a digit", APP, [kind(name="2-items")]),
    ("a name with two hyphens in a row", APP, [kind(name="packing--item")]),
    ("a name with a letter beyond ASCII", APP, [kind(name="gepäck-stück")]),
    ("a plural of one word", APP, [kind(plural="items")]),
    ("one name for singular and plural", APP, [kind(plural="packing-item")]),
    ("two kinds with one number", APP, [kind(), kind(name="packing-bag", plural="packing-bags")]),
    ("two kinds with one name", APP, [kind(), kind(2418, plural="packing-bags")]),
    ("no kind", APP, []),
    ("33 kinds", APP, [kind(2048 + i, f"kind-a{i}", f"kinds-a{i}") for i in range(33)]),
    ("32 kinds", APP, [kind(2048 + i, f"kind-a{i}", f"kinds-a{i}") for i in range(32)]),
    ("65 fields", APP, [kind(fields=[field(i + 1, f"f{i}") for i in range(65)])]),
    ("64 fields", APP, [kind(fields=[field(i + 1, f"f{i}") for i in range(64)])]),
    ("only a field of a type that is not known", APP, [kind(fields=[field(1, "shape", "polygon")])]),
    ("a field 0", APP, [kind(fields=[field(0, "name")])]),
    ("field 65535", APP, [kind(fields=[field(65535, "name")])]),
    ("a field above 65535", APP, [kind(fields=[field(65536, "name")])]),
    ("two fields with one number", APP, [kind(fields=[field(1, "a"), field(1, "b")])]),
    ("two fields with one name", APP, [kind(fields=[field(1, "a"), field(2, "a")])]),
    ("a field named id", APP, [kind(fields=[field(1, "id")])]),
    ("a field with the name of another's zone", APP, [kind(fields=[field(1, "start", "instant"),
                                                                    field(2, "startTZId")])]),
    ("a field with the name of another's currency", APP, [kind(fields=[field(1, "price", "money"),
                                                                        field(2, "priceCurrency")])]),
    ("a field named like the name of a reference", APP, [kind(fields=[field(1, "bagID", "reference", 2418),
                                                                      field(2, "bagName")])]),
    ("a coordinate next to a field of its name", APP, [kind(fields=[field(1, "place", "coordinate"), field(2, "place")])]),
    ("a field name with an underscore", APP, [kind(fields=[field(1, "is_packed")])]),
    ("a field name that begins with an upper-case letter", APP, [kind(fields=[field(1, "Name")])]),
    ("a field of a type for built-in kinds", APP, [kind(fields=[field(1, "parent", "owner")])]),
    ("a parent that is not a field", APP, [kind(parent=2)]),
    ("a parent that is a text", APP, [kind(parent=1)]),
    ("a parent of its own kind", APP, [kind(parent=1, fields=[field(1, "outer", "reference", 2417)])]),
    ("a title that is not a field", APP, [kind(title=2)]),
    ("an order by a field that is missing", APP, [kind(order=[1, 7])]),
    ("a broken kind between two others", APP, [kind(), kind(2419, "Broken"), kind(2418, "packing-bag", "packing-bags")]),
    ("a title that is no text", APP, [kind(title=1, fields=[field(1, "isPacked", "bool")])]),
    ("a title of a type that is not known", APP, [kind(title=2, fields=[field(1, "name"), field(2, "shape", "polygon")])]),
    ("a parent of a type that is not known", APP, [kind(parent=2, fields=[field(1, "name"), field(2, "shape", "polygon")])]),
    ("a field of files", APP, [kind(fields=[field(1, "photo", "blob")])]),
    ("a time next to its text in UTC", APP, [kind(fields=[field(1, "bought", "timestamp"), field(2, "boughtUTC")])]),
    ("64 words", APP, [kind(fields=[field(1, "size", words=[f"w{i}" for i in range(64)])])]),
    ("65 words", APP, [kind(fields=[field(1, "size", words=[f"w{i}" for i in range(65)])])]),
    ("a word with a control character", APP, [kind(fields=[field(1, "size", words=["a\x1b[2J"])])]),
    ("an empty word", APP, [kind(fields=[field(1, "size", words=[""])])]),
    ("an initial value", APP, [kind(fields=[field(1, "isPacked", "bool", None, False, None, [], True)])]),
    ("an app of one part", "packing", [kind()]),
    ("an app with an empty part", "com..packing", [kind()]),
    ("an app with an upper-case letter", "com.example.Packing", [kind()]),
    ("an app with a name of 101 bytes", "com." + "a" * 97, [kind()]),
    ("an app with a name of 100 bytes", "com." + "a" * 96, [kind()]),
]


def main():
    rows = [{"name": name, "app": app, "kinds": write(kinds).hex(),
             "learned": learned(app, kinds)} for name, app, kinds in CASES]
    path = pathlib.Path(__file__).with_name("schemas.json")
    path.write_text(json.dumps({"schemas": rows}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
