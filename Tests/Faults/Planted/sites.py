"""Finds the places of a source file where a small mistake can be made: conditions, closures that select, statements.

Each mistake is a replacement of a piece of text in which PLANTED(n) stands for the call that is true if mistake n of
the piece is chosen. The code is formatted, so most statements are recognised by their lines; what is not understood is
left out.
"""

import re

OPENING, CLOSING = "([{", ")]}"
SELECTING = re.compile(r"\.(filter|first|last|contains|removeAll|allSatisfy|firstIndex|drop|count) \{ ([^{}\n]*) \}")
COMPARISON = re.compile(r"^([\w.$]+(?:\([\w.$: ]*\))?) (<|<=|>|>=) ([\w.$]+(?: [-+*] [\w.$]+)?)$")
OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
CALL = re.compile(r"^ +(try )?(await )?[a-z_]\w*([.?!]\w+|\[[^\]]*\]|\([^()]*\))*\(.*\)$")
ASSIGNMENT = re.compile(r"^ +(?!let |var |return |case )[a-z_]\w*([.?!]\w+|\[[^\]]*\])* [-+|&]?= \S.*$")
BLOCK = re.compile(r"^ *(\} )?(if|else|for|while|guard|defer|do|catch)\b")
# Without them the program does the same, or tests can't tell.
IDLE = re.compile(
    r"^ *(try )?(super|self)\.init|^ *self(\.\w+)? = |^ *(precondition\w*|assert\w*|fatalError|print|log)\b|logger\.")
KEYWORD = re.compile(r"^ +(try )?(await )?(if|guard|for|while|switch|return|throw|case|init)\b")
CONTINUED = re.compile(r"([,(\[=+\-:?]|&&|\|\||\?\?|->|\bin|\breturn)$")
CONTINUES = re.compile(r"[.?:+&|{]|else\b|\?\?")
UNUSUAL = re.compile(r"(let|var|case|await|try\?|if|switch|true)\b|#|!?\{")
DECLARATION = re.compile(
    r" *(@\w+ )*((public|package|private|fileprivate|convenience|override|static|mutating) )*"
    r"(init[?(<]|func |var |subscript|deinit)")


def masked(text):
    """The text with spaces for strings and comments, so that the code can be searched."""
    out, place = list(text), 0
    while place < len(text):
        if text.startswith("//", place):
            end = text.find("\n", place)
            end = len(text) if end < 0 else end
        elif text.startswith("/*", place):
            end = text.find("*/", place) + 2
        elif text.startswith('"""', place):
            end = text.find('"""', place + 3) + 3
        elif text[place] == '"':
            end = end_of_string(text, place)
        else:
            place += 1
            continue
        for each in range(place, end):
            if out[each] != "\n":
                # A string is an operand, so it must not vanish.
                out[each] = "x" if text[place] == '"' else " "
        place = end
    return "".join(out)


def end_of_string(text, place):
    """The place after a string on one line, whose interpolations can hold strings."""
    place, depth = place + 1, 0
    while place < len(text):
        if depth == 0 and text[place] == '"':
            return place + 1
        if text.startswith("\\(", place):
            depth, place = depth + 1, place + 2
            continue
        if depth == 0 and text[place] == "\\":
            place += 2
            continue
        if depth > 0:
            if text[place] == '"':
                place = end_of_string(text, place)
                continue
            depth += {"(": 1, ")": -1}.get(text[place], 0)
        place += 1
    return place


def split(code, first, last, separator):
    """The pieces of a part of the code between separators that are in no brackets, as places."""
    pieces, depth, start, place = [], 0, first, first
    while place < last:
        if code[place] in OPENING:
            depth += 1
        elif code[place] in CLOSING:
            depth -= 1
        elif depth == 0 and code.startswith(separator, place):
            pieces.append((start, place))
            place = start = place + len(separator)
            continue
        place += 1
    return pieces + [(start, last)]


def trimmed(code, first, last):
    while first < last and code[first] in " \n":
        first += 1
    while first < last and code[last - 1] in " \n":
        last -= 1
    return first, last


class File:
    def __init__(self, text):
        self.text, self.code, self.lines = text, masked(text), masked(text).split("\n")
        self.found, self.count = [], 0

    def number(self, what):
        """The placeholder of the next mistake of the piece that is being written."""
        self.what.append(what)
        return f"PLANTED({len(self.what) - 1})"

    def add(self, first, last, write):
        """Adds the mistakes of a piece of text, for which `write` returns the replacement, or None."""
        if any(first < end and start < last for start, end, _, _ in self.found):
            return
        self.what = []
        replacement = write(self.text[first:last])
        if replacement and self.what:
            self.found.append((first, last, replacement, self.what))

    # Conditions

    def condition(self, first, last, isExit):
        """A boolean expression with its mistakes; None if it is none."""
        first, last = trimmed(self.code, first, last)
        code = self.code[first:last]
        # A loop without an end makes the compiler's analysis depend on the condition.
        if not code or UNUSUAL.match(code) or re.search(r"await|.\btry ", code):
            return None
        if " ? " in code or "??" in code and "\n" in code or "{" in code or " is " in code and "\n" in code:
            return None
        prefix = ""
        if code.startswith("try "):
            prefix, first = "try ", first + 4
        return prefix + self.expression(first, last, isExit)

    def expression(self, first, last, isExit):
        for separator, join in ((" || ", " || "), (" && ", " && ")):
            pieces = split(self.code, first, last, separator)
            if len(pieces) > 1:
                return join.join(
                    self.operand(*trimmed(self.code, *piece), separator == " && ") for piece in pieces)
        return self.operand(*trimmed(self.code, first, last), True, not isExit)

    def operand(self, first, last, canHold, canFail=None):
        """An operand of `&&` (which can hold always) or of `||` (which can fail always), or a whole condition."""
        text = self.text[first:last]
        pieces = split(self.code, first, last, " && ")
        if len(pieces) > 1:
            text = self.expression(first, last, True)
        else:
            compared = COMPARISON.match(text)
            if compared:
                left, sign, right = compared.groups()
                text = f"({self.number('another bound')} ? {left} {OTHER[sign]} {right} : {text})"
        canFail = not canHold if canFail is None else canFail
        if canFail:
            text = f"(!{self.number('never holds')} && ({text}))"
        if canHold:
            text = f"({self.number('always holds')} || {text})"
        return text

    def conditions(self):
        for match in re.finditer(r"(?m)^ *(?:\} else )?(guard|if|while) ", self.code):
            isGuard = match.group(1) == "guard"
            end = self.end_of_condition(match.end(), isGuard)
            if end is None:
                continue
            for piece in split(self.code, match.end(), end, ","):
                first, last = trimmed(self.code, *piece)
                self.add(first, last, lambda _: self.condition(first, last, isGuard))

    def end_of_condition(self, place, isGuard):
        depth, end = 0, min(len(self.code), place + 600)
        while place < end:
            if depth == 0 and isGuard and re.match(r"\s+else \{", self.code[place : place + 200]):
                return place
            if depth == 0 and not isGuard and self.code[place] == "{":
                return place
            if self.code[place] in OPENING:
                depth += 1
            elif self.code[place] in CLOSING:
                depth -= 1
            place += 1
        return None

    def closures(self):
        for match in SELECTING.finditer(self.code):
            first, last = match.span(2)
            code = self.code[first:last]
            if "$0" in code and " in " not in code and ";" not in code:
                self.add(first, last, lambda _: self.condition(first, last, False))

    def answers(self):
        for match in re.finditer(r"(?m)^ *return (.* (?:&&|\|\|) .*)$", self.code):
            first, last = match.span(1)
            after = self.code[last : last + 80]
            # A tuple is no condition.
            isWhole = is_balanced(self.code[first:last]) and not re.match(r"\s*(\.|&&|\|\||\?|\+)", after)
            if isWhole and not self.code.startswith("(", first):
                self.add(first, last, lambda _: self.condition(first, last, True))

    # Statements

    def statements(self):
        place = 0
        for index, line in enumerate(self.lines):
            start, place = place, place + len(line) + 1
            if not is_balanced(line) or IDLE.search(line) or not self.is_statement(index, line):
                continue
            first = start + len(line) - len(line.lstrip())
            self.add(
                first, start + len(line),
                lambda text: f"if !{self.number('left out')} {{ {text} }}" if "await" not in text else None)

    def is_statement(self, index, line):
        isCall = CALL.match(line) and not KEYWORD.match(line)
        isChange = ASSIGNMENT.match(line) and not self.is_in_init(index) and not self.is_first_value(line)
        if not isCall and not isChange:
            return False
        before, after = self.near(index, -1), self.near(index, 1)
        if CONTINUED.search(before) or CONTINUES.match(after):
            return False
        # A body of one line can be the value of a function, a closure or a case.
        if before.endswith("{") and after.startswith("}"):
            return bool(BLOCK.match(before)) or bool(re.search(r"\bfunc\b", before)) and "->" not in before
        return not (before.endswith("{") and not BLOCK.match(before) and "func" not in before)

    def near(self, index, step):
        index += step
        while 0 <= index < len(self.lines):
            if self.lines[index].strip():
                return self.lines[index].strip()
            index += step
        return ""

    def is_in_init(self, index):
        for line in reversed(self.lines[:index]):
            if DECLARATION.match(line):
                return bool(re.search(r"\binit[?(<]", line))
        return False

    def is_first_value(self, line):
        name = re.match(r" +(\w+)", line).group(1)
        return bool(re.search(rf"\b(let|var) {name}(: [^=\n]*)?$", self.code, re.M)) or bool(
            re.search(rf"\blet \([^)]*\b{name}\b[^)]*\)(: [^=\n]*)?$", self.code, re.M))

    def sites(self):
        self.closures()
        self.conditions()
        self.answers()
        self.statements()
        return sorted(self.found)


def is_balanced(code):
    depth = 0
    for each in code:
        depth += (each in OPENING) - (each in CLOSING)
        if depth < 0:
            return False
    return depth == 0
