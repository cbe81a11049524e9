"""Checks of Protocol/files.md: for clients that keep files."""

import os

from change_set import INSERT, RECORDS
from checks import FULL, MEMBER, Failed, Skipped, check, require
from files import LEAF, NO_SUCH_FILE, WANT_LEAVES, Download, File
from world import World

TRIP, LODGING, ATTACHMENT, FILE_NAME, FILE_SIZE, FILE_DATA = 1, 2, 7, 2, 4, 9


def attach(device, file):
    """A set with visible records, the last of which names a file."""
    trip, lodging, record = (os.urandom(16) for _ in range(3))
    device.files[tuple(file.reference)] = file
    return device.writes(
        RECORDS, [INSERT, TRIP, trip, {1: "Rome"}], [INSERT, LODGING, lodging, {1: trip, 2: "Casa"}],
        [INSERT, ATTACHMENT, record, {
            1: [LODGING, lodging], FILE_NAME: "photo.raw", FILE_SIZE: len(file.data), FILE_DATA: file.reference}])


def fetched(world: World, device, file):
    """The client fetches a file; skipped if it asks for none."""
    session = world.records(device)
    session.push(RECORDS, [attach(device, file)])
    reference = tuple(file.reference)
    try:
        session.waits_for(lambda: any(each[0] == reference for each in session.files.requested), "a request for a file")
    except Failed:
        if world.profile == FULL:
            raise
        raise Skipped("the client asks for no file (MAY)") from None
    return session


@check("files.fetches", MEMBER, "files", "Requests")
def fetches(world):
    """The client fetches a file that a visible record names: its list, then its leaves; then it announces the file."""
    file = world.file = File(os.urandom(LEAF * 5 + 100))
    session = fetched(world, world.bob, file)
    first = next(each[1:] for each in session.files.requested if each[0] == tuple(file.reference))
    require(first == (False, 0, 6), f"expected a request for the list of 6 leaves first; {first} arrived")
    session.waits_for(lambda: tuple(file.reference) in session.files.announced, "an announcement of the file", 15)
    asked = [index for _, is_bytes, first, count in session.files.requested if is_bytes
             for index in range(first, first + count)]
    require(sorted(asked) == list(range(6)), f"expected a request for each of 6 leaves, once; {sorted(asked)} arrived")
    small = File(os.urandom(900))
    session.push(RECORDS, [attach(world.bob, small)])
    session.waits_for(lambda: tuple(small.reference) in session.files.announced, "an announcement of a small file")
    world.has_file = True


@check("files.serves", MEMBER, "files", "Who may ask for what")
def serves(world):
    """The client sends a file that it has, and nothing of a file that no record names."""
    if not getattr(world, "has_file", False):
        raise Skipped("the client has no file; see files.fetches")
    session, file = world.records(), world.file
    told = session.files.ask(file.reference)
    require(told == [tuple(file.reference)], "expected the answer that the client has the file")
    download = Download(file.reference)
    require(session.files.fetch(download) and download.data == file.data, "expected all leaves of the file")
    unnamed = File(os.urandom(LEAF * 2)).reference
    require(session.files.ask(unnamed) == [], "expected an answer without a file that no record names")
    session.send(WANT_LEAVES, unnamed, True, 0, 1)
    session.waits_for(lambda: NO_SUCH_FILE in session.heard, "no such file")


@check("files.wrong-leaf", MEMBER, "files", "Verification")
def wrong_leaf(world):
    """A leaf, or a list, that does not verify ends the session."""
    trudy = world.device("Trudy", premium=True)
    changes = {
        "a leaf with other bytes": lambda file: setattr(file, "leaf", lambda index: bytes(LEAF if index < 2 else 9)),
        "a list that does not match the file id":
            lambda file: setattr(file, "hashes", [os.urandom(32) for _ in file.hashes])}
    for what, change in changes.items():
        file = File(os.urandom(LEAF * 2 + 9))
        change(file)
        session = fetched(world, trudy, file)
        session.closes(what)
        trudy.files.clear()


@check("files.questions", FULL, "files", "Who has a file")
def questions(world):
    """The client answers a question about no files, and says whether it keeps all files."""
    session = world.records()
    session.files.keeps = None
    require(session.files.ask() == [], "expected an answer that names no files")
    require(type(session.files.keeps) is bool, "expected `keeps` in the answer")
