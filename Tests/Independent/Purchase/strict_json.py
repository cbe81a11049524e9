"""Protocol/purchase.md, "Reading": JSON as RFC 8259 has it, with what the chapter adds.

Texts are compared by code points. A number is kept as it is written, because only its digits decide whether it is a
time.
"""

import re

LEVELS_MAX = 16
SPACE = re.compile(r"[ \t\n\r]*")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
ESCAPE = re.compile(r'["\\/bfnrt]|u[0-9a-fA-F]{4}')
SHORT = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
WORDS = {"true": True, "false": False, "null": None}


class NotJSON(Exception):
    """The text breaks a rule; the message says which."""


class Number(str):
    """The digits of a number."""


def parse_object(data):
    """The object that `data` consists of, as a dictionary."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise NotJSON("not UTF-8") from None
    reader = Reader(text)
    reader.skip_space()
    if reader.peek() != "{":
        raise NotJSON("not an object")
    value = reader.value(1)
    reader.skip_space()
    if reader.at != len(text):
        raise NotJSON("text behind the object")
    return value


class Reader:
    def __init__(self, text):
        self.text, self.at = text, 0

    def peek(self):
        return self.text[self.at:self.at + 1]

    def skip_space(self):
        self.at = SPACE.match(self.text, self.at).end()

    def take(self, character):
        if self.peek() != character:
            raise NotJSON(f"no {character} at {self.at}")
        self.at += 1

    def value(self, level):
        self.skip_space()
        first = self.peek()
        if first in ("{", "["):
            if level > LEVELS_MAX:
                raise NotJSON("too many levels")
            return self.members(level) if first == "{" else self.elements(level)
        if first == '"':
            return self.string()
        for word, value in WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        found = NUMBER.match(self.text, self.at)
        if not found:
            raise NotJSON(f"no value at {self.at}")
        self.at = found.end()
        return Number(found.group())

    def elements(self, level):
        found = []
        self.take("[")
        self.skip_space()
        if self.peek() == "]":
            self.at += 1
            return found
        while True:
            found.append(self.value(level + 1))
            self.skip_space()
            if self.peek() != ",":
                break
            self.at += 1
        self.take("]")
        return found

    def members(self, level):
        found = {}
        self.take("{")
        self.skip_space()
        if self.peek() == "}":
            self.at += 1
            return found
        while True:
            self.skip_space()
            key = self.string()
            if key in found:
                raise NotJSON(f"the key {key!r} twice")
            self.skip_space()
            self.take(":")
            found[key] = self.value(level + 1)
            self.skip_space()
            if self.peek() != ",":
                break
            self.at += 1
        self.take("}")
        return found

    def string(self):
        self.take('"')
        units = []
        while True:
            plain = PLAIN.match(self.text, self.at)
            units.append(plain.group())
            self.at = plain.end()
            if self.peek() == '"':
                self.at += 1
                break
            self.take("\\")
            escape = ESCAPE.match(self.text, self.at)
            if not escape:
                raise NotJSON(f"no escape at {self.at}")
            self.at = escape.end()
            word = escape.group()
            units.append(SHORT[word] if word in SHORT else chr(int(word[1:], 16)))
        try:
            # Two escapes can make one character. UTF-16 joins them, and refuses a half that has no other.
            return "".join(units).encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            raise NotJSON("an unpaired surrogate") from None
