"""articles.py CATALOG: the Swift of each article as one function, in which later blocks see what earlier ones made.

An article declares what its code assumes in a comment: @Comment { given: node: Node }.
"""

import pathlib
import re
import sys

# Where there is no StoreKit, a stand-in has what the articles call.
print("import Foundation\nimport WaymarkCare\nimport WaymarkFiles\nimport WaymarkKinds\nimport WaymarkModels\nimport WaymarkPage\n\n#if canImport(StoreKit)\nimport StoreKit\n#else")
print(pathlib.Path(__file__).with_name("StoreKit.swift").read_text() + "#endif\n")
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.md")):
    text = path.read_text()
    blocks = re.findall(r"```swift\n(.*?)```", text, re.S)
    given = re.search(r"@Comment \{ given: (.*?) \}", text)
    if blocks:
        body = "\n  do {\n".join([""] + blocks)
        name = path.stem[0].lower() + path.stem[1:]
        print(f"func {name}({given[1] if given else ''}) async throws {{{body}{'}' * len(blocks)}\n}}\n")
