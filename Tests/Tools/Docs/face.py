"""face.py MODULES OUT: the public face of the library, as one symbol graph for docc.

The products share inner modules, and each product names in its Exports.swift the types of them that belong to its API. The
compiler's own graph of a product lacks the members that such types get in extensions, so the graphs of all modules are
extracted and filtered here. A member belongs to the first product that exports its type and all types that it mentions.
Fails if a member of an exported type mentions a type that no product exports with it, or if `Waymark` has too many symbols
for one import.
"""

import json
import pathlib
import re
import subprocess
import sys

# A product comes after those that it re-exports.
PRODUCTS = ["Waymark", "WaymarkKinds", "WaymarkFiles", "WaymarkCare"]
WAYMARK_SYMBOLS_MAX = 900
EXPORT = re.compile(r"@_exported public import (?:(?:struct|enum|class|protocol) )?(\w+)(?:\.(\w+))?$", re.M)
C_MODULES = ("CPlatform", "CSQLite", "CSodium", "CServiceDiscovery")


def extract(module, modules, out):
    info = json.loads(subprocess.check_output(["swift", "-print-target-info"]))
    subprocess.check_call(
        ["swift", "symbolgraph-extract", "-module-name", module, "-I", modules, *(f"-ISources/{name}" for name in C_MODULES),
         "-target", info["target"]["unversionedTriple"], "-minimum-access-level", "public", "-skip-synthesized-members",
         "-omit-extension-block-symbols", "-output-dir", str(out)])
    return [json.loads(path.read_text()) for path in sorted(out.glob(f"{module}*.symbols.json"))
            if re.split(r"[@.]", path.name)[0] == module]


def mentions(symbol):
    """The types in a declaration, as pairs of an identifier and a name."""
    parts = [part for part in symbol.get("declarationFragments", []) if part["kind"] == "typeIdentifier"]
    return {(p["preciseIdentifier"], p["spelling"]) for p in parts if "preciseIdentifier" in p and p["spelling"] != "ID"}


def module_of(identifier):
    found = re.match(r"s:(?:e:s:)?(\d+)", identifier)
    return identifier[found.end():found.end() + int(found[1])] if found else ""


def main(modules, out):
    out = pathlib.Path(out)
    inner = out / "inner"
    inner.mkdir(parents=True, exist_ok=True)
    exports = {p: EXPORT.findall(pathlib.Path(f"Sources/{p}/Exports.swift").read_text()) for p in PRODUCTS}
    names = sorted({module for pairs in exports.values() for module, _ in pairs} | set(PRODUCTS))
    graphs = {name: extract(name, modules, inner) for name in names}
    package = {path.stem for path in pathlib.Path(modules).glob("*.swiftmodule")}

    # The symbols of each product: (module, symbol), whether or not they mention something that is not exported.
    offered, available = {}, {}
    for product in PRODUCTS:
        whole = {module for module, name in exports[product] if not name and module not in PRODUCTS} | {product}
        types = {name for _, name in exports[product] if name}
        for other in PRODUCTS:
            if (other, "") in exports[product]:
                types |= offered[other][1]
        mine = [symbol for module in names for graph in graphs[module] for symbol in graph["symbols"]
                if module in whole or module not in PRODUCTS and symbol["pathComponents"][0] in types]
        offered[product] = (mine, types | {s["pathComponents"][0] for s in mine})
        available[product] = {symbol["identifier"]["precise"] for symbol in mine}
        for other in PRODUCTS:
            if (other, "") in exports[product]:
                available[product] |= available[other]

    owners, complaints = {}, []
    for product in PRODUCTS:
        count = 0
        for symbol in offered[product][0]:
            identifier = symbol["identifier"]["precise"]
            strange = {name for mentioned, name in mentions(symbol)
                       if module_of(mentioned) in package and mentioned not in available[product]}
            if identifier in owners:
                continue
            if strange:
                complaints.append((identifier, f"{product}: {'.'.join(symbol['pathComponents'])} mentions {', '.join(strange)}"))
            else:
                owners[identifier] = symbol
                count += 1
        print(f"{product}: {count} public symbols")
        if product == "Waymark" and count >= WAYMARK_SYMBOLS_MAX:
            complaints.append(("", f"Waymark has {WAYMARK_SYMBOLS_MAX} public symbols or more; move some to another product"))
    failures = sorted({text for identifier, text in complaints if identifier not in owners})
    for text in failures:
        print(text)

    relations = {json.dumps(relation, sort_keys=True): relation for module in names for graph in graphs[module]
                 for relation in graph["relationships"] if relation["source"] in owners}
    face = next(graph for graph in graphs["Waymark"] if graph["module"]["name"] == "Waymark")
    face["symbols"], face["relationships"] = list(owners.values()), list(relations.values())
    (out / "Waymark.symbols.json").write_text(json.dumps(face))
    for path in inner.iterdir():
        path.unlink()
    inner.rmdir()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
