"""Reads Protocol/records.md: the numbers, tables and columns of kinds and fields, and how a value is stored."""

import json
import pathlib
import re
from dataclasses import dataclass, field

from encoding import encode, hashed

CHAPTER = pathlib.Path(__file__).parents[3] / "Protocol" / "records.md"
TRIP, LODGING, TRANSPORTATION, ACTIVITY, ORGANIZATION = 1, 2, 3, 4, 5
HABIT, CATEGORY, LOG, PROFILE, SETTING = 9, 10, 11, 4096, 8192
OWNERS = (LODGING, TRANSPORTATION, ACTIVITY)
NONE_ID = b"waymark\0" + (1).to_bytes(8, "big")
PROFILE_ID = b"waymark\0" + (2).to_bytes(8, "big")
SEEDS = ((ORGANIZATION, NONE_ID), (PROFILE, PROFILE_ID))


@dataclass
class Field:
    number: int
    name: str
    type: str
    columns: list
    parts: list


@dataclass
class Kind:
    number: int
    name: str
    plural: str
    table: str
    view: str
    parent: str
    fields: dict = field(default_factory=dict)

    def named(self, name):
        return next(each for each in self.fields.values() if each.name == name)


def cells_of(line):
    return [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]


def words(cell):
    return re.findall(r"[A-Za-z_]+", cell)


def read():
    text = CHAPTER.read_text()
    kinds = {}
    for line in section(text, "## Kinds"):
        number, name, plural, table, view, parent = cells_of(line)
        kinds[int(number)] = Kind(int(number), name, plural, table, view, parent)
    for kind in kinds.values():
        for line in section(text, f"### {kind.name}\n"):
            number, name, type_, columns, parts = cells_of(line)
            kind.fields[int(number)] = Field(int(number), name, type_, words(columns), words(parts) or [name])
    return kinds


def section(text, title):
    """The rows that begin with a number in the first table after a title."""
    body = text[text.index(title) + len(title):]
    body = body[:re.search(r"\n##", body).start()] if re.search(r"\n##", body) else body
    return [line for line in body.splitlines() if re.match(r"\| \d+ \|", line)]


KINDS = read()
BY_NAME = {kind.name: kind for kind in KINDS.values()}


# MARK: Values in columns

def is_text(value):
    return type(value) is str


def is_integer(value):
    return type(value) is int


def is_list(value, *tests):
    return type(value) is list and len(value) == len(tests) and all(t(v) for t, v in zip(tests, value))


def maybe(test):
    return lambda value: value is None or test(value)


def is_id(value):
    return type(value) is bytes and len(value) == 16


def is_file_id(value):
    return type(value) is bytes and len(value) == 32


def is_float(value):
    return type(value) is float


def columns_of(field, value):
    """The column values of a field for a value; none if the value is not of the field's type."""
    if value is None:
        return [None] * len(field.columns)
    type_ = field.type
    if type_ == "bool" and type(value) is bool:
        return [int(value)]
    if type_ in ("integer", "timestamp") and is_integer(value):
        return [value]
    if type_ == "float" and is_float(value) or type_ == "text" and is_text(value):
        return [value]
    if (type_ == "uuid" or type_.startswith("reference to")) and is_id(value):
        return [value]
    if type_.startswith("key of") and is_text(value):
        return [value]
    if type_ == "instant" and is_list(value, is_integer, maybe(is_text)):
        return value
    if type_ == "dated instant" and is_list(value, is_integer, maybe(is_text), is_text):
        return value
    if type_ == "money" and is_list(value, is_text, maybe(is_text)):
        return value
    if type_ == "coordinate" and is_list(value, is_float, is_float):
        return value
    if type_ == "owner" and is_list(value, is_integer, is_id) and 0 <= value[0] <= 12_287:
        return value
    if type_ == "bytes" and type(value) is bytes:
        return [value]
    if type_ == "blob" and type(value) is bytes:
        return [value, None, None] if len(value) <= 32_768 else None
    if type_ == "blob" and is_list(value, is_integer, is_file_id) and 0 <= value[0] <= 1 << 30:
        return [None, value[1], value[0]]
    if type_ in SHAPES and SHAPES[type_](value):
        return [Json(value)]
    return None


def is_between(low, high):
    return lambda value: is_integer(value) and low <= value <= high


def ascends(items):
    return all(a < b for a, b in zip(items, items[1:]))


def list_of(test):
    return lambda value: type(value) is list and all(map(test, value))


SHAPES = {
    "any": lambda value: True,
    "reminders": list_of(lambda item: is_list(item, is_between(0, 23), is_between(0, 59))),
    "schedule": lambda value: value == "daily" or list_of(is_between(1, 7))(value) and ascends(value),
    "frequency": lambda value: value == "oncePerDay" or is_integer(value) and value > 0,
    "weights": lambda value: list_of(lambda item: is_list(item, is_text, is_float))(value) and ascends(
        [item[0].encode() for item in value]),
    "zone changes": list_of(lambda item: is_list(item, is_text, is_text, is_integer)),
}


class Json:
    """A value stored as JSON; spacing is ignored."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is str and encode(unjson(json.loads(other))) == encode(self.value)

    def __repr__(self):
        return f"JSON of {self.value!r}"


def unjson(value):
    if type(value) is dict and set(value) == {"bytes"}:
        return bytes.fromhex(value["bytes"])
    return [unjson(item) for item in value] if type(value) is list else value


# MARK: Ids

def uuid_text(record):
    digits = record.hex().upper()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def uuid_bytes(text):
    return bytes.fromhex(text.replace("-", ""))


def text_id(kind, text):
    if re.fullmatch(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", text):
        return uuid_bytes(text)
    return hashed("string-id/v1", kind.to_bytes(4, "big"), text.encode())[:16]
