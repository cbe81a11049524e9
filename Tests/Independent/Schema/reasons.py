"""What waymark.cddl says about what the protocol refuses: one of three verdicts for each reason of a refused vector.

A reason is the flag of a vector or, in circle.json and growth.json, its name. A reason that CDDL expresses in some
vectors only has a verdict for each name. A vector whose reason is not listed here is an error.
"""

# Items that are accepted, or refused for a reason that CDDL can't express.
MATCHES = "matches its rule"
# Items that are refused for a reason that CDDL expresses.
DIFFERS = "differs from its rule"
# Bytes that are not one well-formed CBOR item.
NOT_CBOR = "is not a CBOR item"

FILES_WITHOUT_CBOR = {
    "beacons": "discovery.md: a beacon has a layout of its own",
    "noise": "channel.md: handshakes, frames and preambles",
    "pairing-code": "pairing-code.md: shares, handshakes and announcements have layouts of their own",
    "signatures": "encoding.md: signatures and keys",
}
# The part of a set that each check of change-set.md, "Verifying", is about; the other parts match their rules.
PART_OF_STAGE = {
    "header": "header", "plan_hash": "plan", "signature": "signature", "plan": "plan", "values": "values"}
# Messages of newer versions that a device ignores although they are not one CBOR item.
IGNORED_WITHOUT_CBOR = {"a tag of a newer version with bytes behind", "heads: of lane 2, with bytes behind"}


def table(matches="", differs="", not_cbor=""):
    """Reasons by verdict, one or more a line with `;` between them. `reason [name | name]` is for those names alone.

    `…` at the start or the end of a reason stands for any text.
    """
    found = {}
    for verdict, text in ((MATCHES, matches), (DIFFERS, differs), (NOT_CBOR, not_cbor)):
        for entry in filter(None, (part.strip() for line in text.splitlines() for part in line.split(";"))):
            reason, _, names = entry.removesuffix("]").partition(" [")
            for name in names.split(" | ") if names else [""]:
                if (reason, name) in found:
                    raise SystemExit(f"{entry}: listed twice")
                found[reason, name] = verdict
    return found


VERDICTS = {
    "cbor.json values": table(
        matches="long_integer; items; indefinite; float_value [-0.0]",
        differs="""integer_range; tag; short_float; float_value; simple; depth; map_as_value
            text_length; bytes_length""",
        not_cbor="""reserved; utf8; declared_length; truncated; trailing; indefinite [a lone break]; depth [10,000]
            simple [simple 24 | false in two bytes | reserved]"""),
    "cbor.json maps": table(
        matches="key_order; long_integer; indefinite",
        differs="key_type",
        not_cbor="key_duplicate; declared_length; truncated; trailing"),
    "change-sets.json unreadable": table(
        matches="""an empty array; one value too many; one value for two fields; three values for two fields
            a length longer than necessary; an integer in two bytes that fits one; -0.0; 20,001 items
            an array of indefinite length; a text of indefinite length; every slot unreadable [slot 1]""",
        differs="""a text instead of an array; a map instead of an array; null; 2^63; -2^63 - 1; NaN; infinity
            1.0 in 16 bits; 1.0 in 32 bits; undefined; a simple value; a date; a map; depth 9
            a text of 65,537 bytes; 49,153 bytes; one of two fields unreadable: both are absent
            a whole record, unreadable, with its rank""",
        not_cbor="""no bytes; a byte behind the array; the last byte missing; the head of an array alone; random bytes
            a surrogate in a text; an overlong form in a text; every slot unreadable"""),
    "change-sets.json size": table(differs="size"),
    "change-sets.json header": table(
        matches="""dependencies_order; dependency_own_log; declared_size; key_order; long_integer; indefinite""",
        differs="""missing_key; unknown_key; version; length; lane; sequence; previous; clock; dependencies
            dependency_form; plan_length; values_length; log_bytes; not_a_map""",
        not_cbor="trailing; truncated; key_duplicate"),
    "change-sets.json plan_hash": table(
        matches="plan_hash; plan_length",
        differs="plan_hash [another plan of the same length]",
        not_cbor="plan_hash [no plan | a plan as long as a plan may be]"),
    "change-sets.json signature": table(
        matches="signature",
        differs="signature [63 bytes | 65 bytes | none]"),
    "change-sets.json plan": table(
        matches="""lane_of_kind; entry_order; two_lives; two_lists; items; key_order; indefinite
            fields [descending | twice the same | a list of indefinite length | a field in two bytes]""",
        differs="""verb; target; unknown_key; empty_entries; not_a_map; entry_form; rank; kind; fields; entries""",
        not_cbor="trailing; truncated; verb [not UTF-8]"),
    "change-sets.json values": table(
        matches="""slot_count; commitment; commitments_hash; salts; values_length; long_integer; indefinite
            form [nothing]""",
        differs="""form
            slot_count [no slots in the salted form | a byte where the plan has no slots]
            slot_count [an empty salted form where the plan has no slots | a seed where the plan has no slots]
            slot_count [one less than the plan and the header | a header that commits to no slots, with a seed]
            slot_count [a header that commits to no slots, in salted form]""",
        not_cbor="""trailing; truncated
            form [an empty outer array with the slots behind it | values as long as values may be]"""),
    "circle.json statements": table(
        matches="""kind with a longer integer; keys out of order; a map of indefinite length
            a bit of the signature; a letter of the name; signed by another key; signed as another kind
            a signature that is not reduced
            genesis with the root as device; genesis with one issuer twice
            revocation with tips out of order; revocation with a tip twice; revocation with a log twice
            revocation with lanes out of order; revocation with valid ids out of order
            entitlement that ends as it starts; entitlement for one device twice
            grant signed by another admin; grant signed as a newer kind
            fork proof with the greater id first; fork proof of one set; fork proof of two sequences
            fork proof of two lanes; fork proof of two devices; fork proof of another circle
            fork proof signed by another key; fork proof of a header with 33 pairs
            a newer kind with 33 pairs; a newer kind of 20,001 items; a statement of 64 KiB and one byte
            branch proof of eighteen branches; branch proof with a set that has no fork
            branch proof of seventeen sets after two; branch proof of seventeen second sets of two logs
            branch proof of two numbers; branch proof of two lanes; branch proof of two devices
            branch proof of another circle; branch proof out of order; branch proof with a header twice
            branch proof signed by another key
            withdrawal with issuers out of order; withdrawal with an issuer twice
            withdrawal with entitlements out of order; withdrawal with an entitlement twice
            withdrawal signed by another key; withdrawal signed under its name""",
        differs="""kind zero; kind sixty-four; fork proof beyond the greatest sequence
            fork proof of a header that holds a map
            two items; signature too short; signature too long
            version two; no version; an unknown key; a missing key; a circle of 31 bytes; an unknown role
            an empty name; a name of 65 bytes; a name that is bytes; a name with …; a time of 49 bits; a key twice
            genesis with an empty list of issuers; genesis with three issuers; genesis that names a circle
            genesis with a nonce of 15 bytes
            revocation that keeps a log without tips; revocation with an empty list of logs
            revocation of an unknown lane; revocation with an empty list of valid ids; log cut of an unknown lane
            entitlement for nobody; entitlement for 65 devices; entitlement with an empty plan; issuers without issuers
            17 addresses; an address with a space; an empty address; an address of 129 bytes
            grant of nothing; grant of more than the most; grant of a negative number of bytes
            grant in an unknown lane; grant without a device; grant without a time; grant with one key more
            a newer kind without a signer; a newer kind that holds a map
            withdrawal of nothing; withdrawal with an empty list of issuers
            withdrawal with an empty list of entitlements; withdrawal of 257 issuers; withdrawal of 257 entitlements
            withdrawal of an issuer of 31 bytes; withdrawal of an entitlement of 31 bytes; withdrawal without a time
            withdrawal at a time of 49 bits; withdrawal with one key more; withdrawal of version two
            fork proof with and without a set before; fork proof of headers of version 1
            fork proof with a header of version 1; fork proof with one signature
            branch proof of sixteen branches; branch proof of one branch; branch proof of thirty-four headers
            branch proof of headers of version 1; branch proof with a signature too few
            branch proof with half a signature; branch proof with a signer""",
        not_cbor="empty; cut short; a byte behind"),
    "circle.json tickets": table(
        differs="version two; an unknown key; a short secret; an address with a space; 17 addresses",
        not_cbor="""nothing; something else; the mark of a later version; the mark alone; a letter changed
            a letter missing; a letter too many; a digit that base 32 has not; a blank inside; padding
            a wrong checksum"""),
    "circle.json join": table(
        differs="join without a name; join with a short proof",
        not_cbor="join with a byte behind"),
    "circle.json reply": table(differs="accepted with nothing; accepted and refused; neither"),
    "circle.json introduction": table(
        differs="""introduction without a chain; introduction with nine links; introduction with five entitlements
            introduction of more than 6 KiB"""),
    "files.json references": table(matches="form", differs="size; id; parts"),
    "files.json messages": table(
        matches="range; length [a leaf, a byte short | the last leaf, filled]",
        differs="count; reference; parts; form; length; range [a number that overflows]"),
    "growth.json statements": table(
        matches="a kind of a newer version with another signature",
        differs="""a kind above the greatest; a kind of a newer version without a signer
            a kind of a newer version, version 2; a known kind with a new key"""),
    "growth.json maps": table(
        differs="""an introduction of another version; a request to join of another version
            an answer to a joiner of another version; a refusal to a joiner of another version"""),
    "messages.json": table(
        matches="""twice; order; verify; count […4,097 slots]; form […of indefinite length | …the tag in one byte more]
            form [heads: a sequence in one byte more | want values: a slot in one byte more]
            range [heads: more folded than stored | want: from above through]""",
        differs="count; range; parts; form; length",
        not_cbor="""form […a byte behind | …the last byte missing | no byte]
            parts [an empty array, and a tag of a newer version behind it]"""),
    "purchase.json statements": table(
        matches="""a bit of the signature; signed by another device; signed as another kind; signed as a newer kind
            another transaction; keys out of order""",
        differs="""no transaction; no circle; no signer; no version; version 2; a circle of 31 bytes
            a transaction of bytes; a transaction in an array; a number as transaction; an empty transaction
            a transaction that is too long; a space in …; a line break in …; DEL in …; a zero byte in …
            a letter beyond ASCII in …; a renewal info of bytes; a renewal info that is false; an empty renewal info
            a renewal info that is too long; null as renewal info; an unknown key; a signature of 63 bytes""",
        not_cbor="a byte behind"),
    "session.json introductions": table(
        matches="""circle; transport; chain; verify; member; revoked; length
            form [the last link is a revocation | the last link is an entitlement | a time in one byte more]""",
        differs="count; range; parts; form",
        not_cbor="form [no byte | a byte behind]"),
    "session.json exchanges": table(matches="form; count; order; range", differs="parts"),
    "session.json endings": table(matches="twice; token; circle; lane; verify", differs="form"),
    "session.json fills": table(matches="commitment"),
}
unused = {(place, *entry) for place, entries in VERDICTS.items() for entry in entries}


def of(place, reason, name):
    """The verdict on a refused vector. An entry with a name goes before one without."""
    entries = VERDICTS.get(place, {})
    for entry in sorted(entries, key=lambda entry: not entry[1]):
        if fits(reason, entry[0]) and (not entry[1] or fits(name, entry[1])):
            unused.discard((place, *entry))
            return entries[entry]
    return f"unknown: add “{reason}” to {place} in reasons.py"


def fits(text, pattern):
    return (
        text == pattern or pattern.endswith("…") and text.startswith(pattern[:-1])
        or pattern.startswith("…") and text.endswith(pattern[1:]))
