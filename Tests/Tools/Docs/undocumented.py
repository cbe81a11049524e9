"""undocumented.py GRAPH: fails and names the public symbols of a symbol graph that have no documentation."""

import json
import sys

graph = json.load(open(sys.argv[1]))
# Members from a conformance are documented at the protocol.
required = {
    relation["source"]
    for relation in graph["relationships"]
    if relation["kind"] in ("defaultImplementationOf", "overrides")
    or (relation["kind"] == "memberOf" and "sourceOrigin" in relation)
}
PLAIN = {"==(_:_:)", "<(_:_:)", "hash(into:)", "init(from:)", "encode(to:)", "description", "rawValue", "init(rawValue:)"}
missing = []
for symbol in graph["symbols"]:
    name = ".".join(symbol["pathComponents"])
    if symbol["identifier"]["precise"] in required or symbol["pathComponents"][-1] in PLAIN:
        continue
    # Stored properties and cases with self-explanatory names need no documentation.
    kind = symbol["kind"]["identifier"]
    if "docComment" not in symbol and "location" in symbol and kind != "swift.extension":
        place = symbol["location"]
        missing.append(f"{place['uri'].split('/Sources/')[-1]}:{place['position']['line'] + 1}: {kind[6:]} {name}")
print(f"{len(graph['symbols'])} public symbols, {len(missing)} without documentation")
for line in sorted(missing):
    print(" ", line)
sys.exit(1 if missing else 0)
