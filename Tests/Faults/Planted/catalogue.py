"""The mistakes of Catalogue, and the copy of the tree that holds all of them.

In the copy, each mistake replaces the original text, with an expression or a statement that calls `planted` with the
number of the mistake. The call is true in a process whose environment variable WAYMARK_PLANTED is that number, so one
build has every mistake and, without the variable, none:

    Catalogue                                       the copy of the source
      <<<                                             let due = planted(7) ? now : later
      let due = later
      ===
      let due = PLANTED ? now : later
      >>>
"""

import hashlib
import pathlib
import re
import shutil
import zlib

TOKEN = "PLANTED"
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
ENTRY = re.compile(r"^# (\S+)\n(.*?)\n(?:tests (\S+)\n)?in (\S+)\n<<<\n(.*?)\n===\n(.*?)\n>>>$", re.S | re.M)
# Declared in each file that has a mistake, so that no file needs another import.
DECLARATION = '\n@_silgen_name("waymark_planted") private func planted(_ number: Int32) -> Bool\n'
# The tests start programs with an environment of their own, so the variable of an ancestor counts too.
DEFINITION = """#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

private func content(_ path: String) -> [UInt8] {
  guard let file = fopen(path, "r") else { return [] }
  defer { fclose(file) }
  var bytes = [UInt8](repeating: 0, count: 1 << 18)
  let count = fread(&bytes, 1, bytes.count, file)
  return Array(bytes[..<count])
}

private let chosen: Int32 = {
  let name = "WAYMARK_PLANTED="
  if let own = getenv("WAYMARK_PLANTED") { return Int32(String(cString: own)) ?? 0 }
  var process = "\\(getppid())"
  for _ in 0..<12 {
    for variable in content("/proc/\\(process)/environ").split(separator: 0) {
      let text = String(decoding: variable, as: UTF8.self)
      if text.hasPrefix(name) { return Int32(text.dropFirst(name.count)) ?? 0 }
    }
    let state = String(decoding: content("/proc/\\(process)/stat"), as: UTF8.self)
    guard let end = state.lastIndex(of: ")") else { return 0 }
    let words = state[state.index(after: end)...].split(separator: " ")
    guard words.count > 1 else { return 0 }
    process = String(words[1])
  }
  return 0
}()

@_silgen_name("waymark_planted") public func isPlantedMistake(_ number: Int32) -> Bool { number == chosen }
"""
# A module that all programs link, and that has no mistakes: an optimized module can't both define and declare a symbol.
DEFINED_IN = pathlib.Path("Sources/Platform/PlantedMistakes.swift")


class Mistake:
    def __init__(self, area, tests, found):
        self.name, self.sentence, own, self.path, self.original, self.replacement = found
        self.area, self.tests = area, own or tests
        # The number follows from the name, so that a new mistake changes only its own file.
        self.number = zlib.crc32(self.name.encode()) >> 1
        content = "\n".join([self.name, self.sentence, self.path, self.original, self.replacement])
        self.hash = hashlib.sha256(content.encode()).hexdigest()[:16]

    def plant(self, text):
        count = text.count(self.original)
        assert count == 1, f"{self.name}: its original text occurs {count} times in {self.path}"
        return text.replace(self.original, self.replacement.replace(TOKEN, f"planted({self.number})"))


def mistakes():
    """All mistakes, in the order of the catalogue."""
    found = []
    # The core comes last: its tests take longest.
    for area in sorted((HERE / "Catalogue").iterdir(), key=lambda path: (path.name == "core", path.name)):
        text = area.read_text()
        tests = re.match(r"tests (.+)\n", text)
        for entry in ENTRY.findall(text):
            found.append(Mistake(area.name, tests and tests.group(1), entry))
    assert len({each.number for each in found}) == len(found), "two mistakes have the same name or number"
    return found


def is_left_out(path):
    return path.parts[0] == ".git" or path.parts[0].startswith(".build") or "__pycache__" in path.parts


def sources():
    """All files of the tree that the copy has, as paths in it."""
    waiting = [ROOT]
    while waiting:
        for each in sorted(waiting.pop().iterdir()):
            path = each.relative_to(ROOT)
            if is_left_out(path):
                continue
            if each.is_dir() and not each.is_symlink():
                waiting.append(each)
            else:
                yield path


def is_copied(source, target):
    if not target.is_file() or source.is_symlink():
        return False
    one, other = source.stat(), target.stat()
    return one.st_size == other.st_size and int(one.st_mtime) == int(other.st_mtime)


def make_copy(tree, planted):
    """Brings the copy up to date. Files that do not change keep their times, so they are not built again."""
    by_path = {}
    for each in planted:
        by_path.setdefault(each.path, []).append(each)
    expected = {DEFINED_IN}
    for path in sources():
        expected.add(path)
        target = tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if str(path) in by_path:
            text = (ROOT / path).read_text()
            for each in by_path.pop(str(path)):
                text = each.plant(text)
            write(target, text + DECLARATION)
        elif not is_copied(ROOT / path, target):
            target.unlink(missing_ok=True)
            shutil.copy2(ROOT / path, target, follow_symlinks=False)
    assert not by_path, f"there are no files {sorted(by_path)}"
    write(tree / DEFINED_IN, DEFINITION)
    for each in [each for each in tree.rglob("*") if not each.is_dir()]:
        if each.relative_to(tree) not in expected and not is_left_out(each.relative_to(tree)):
            each.unlink()


def write(target, text):
    if not target.is_file() or target.read_text() != text:
        target.write_text(text)
