"""Files: wrong bytes, requests that no correct device makes, and questions that must not reveal anything."""

import os

import files
from change_set import INSERT, RECORDS
from channel import Ended, Silence
from encoding import encode
from files import (
    ANNOUNCEMENT, ANSWER, FILES_HERE, LEAF, LEAF_BYTES, LEAF_LIST, NO_SUCH_FILE, QUESTION, WANT_LEAVES, Download, File)
from frames import closes

TRIP, LODGING, ATTACHMENT, FILE_NAME, FILE_DATA = 1, 2, 7, 2, 9
# Node → the file that it has and a record names.
HELD = {}


def opened(stage, node, client=None):
    session = stage.dial(client or stage.trudy, node)
    session.settle()
    return session


def name_file(session, file, reference=None):
    """Writes a visible record that names a file, which this device claims to have."""
    reference = reference or file.reference
    session.client.files[tuple(reference)] = file
    trip, lodging, record = (os.urandom(16) for _ in range(3))
    session.push(RECORDS, [session.client.write(RECORDS, [
        [INSERT, TRIP, trip, {1: "Evil"}], [INSERT, LODGING, lodging, {1: trip, 2: "Evil"}],
        [INSERT, ATTACHMENT, record, {1: [LODGING, lodging], FILE_NAME: "evil.raw", FILE_DATA: reference}]])])


def held(stage, node):
    """A file of 40 leaves that the node has and a record names."""
    if node not in HELD:
        path = stage.folder / f"held by {node.name}.raw"
        path.write_bytes(os.urandom(40 * LEAF - 5))
        node.run("trip", "add", f"name=Files of {node.name}")
        node.run("lodging", "add", f"trip=Files of {node.name}", f"name=House of {node.name}")
        node.run("attachment", "add", f"file={path}", f"lodging=House of {node.name}")
        HELD[node] = File(path.read_bytes())
        stage.settle()
    return HELD[node]


def lying(change):
    """An attempt that answers the requests for a file with something else, and expects the node to hang up, and not to
    ask this device for the file again."""
    def attempt(stage, node):
        file = File(os.urandom(3 * LEAF + 1))
        session = opened(stage, node)
        change(session, file)
        name_file(session, file)
        closes(session)
        forget(session)
        session = redialled(stage, node)
        session.send(FILES_HERE, ANNOUNCEMENT, True, [file.reference])
        session.pump(1.5)
        asked = [each for each in session.files.requested if each[0] == tuple(file.reference)]
        assert not asked, f"asks a device that lied: {asked}"
        session.close()
    attempt.__name__ = change.__name__
    return attempt


def forget(session):
    """The next attempt must not be asked for the file of this one."""
    session.client.files.clear()


def redialled(stage, node):
    """A session after a penalty: the node lets the device wait for a tenth of a second."""
    found = []

    def dialled():
        try:
            found.append(opened(stage, node))
        except (Ended, Silence):
            return False
        return True

    stage.eventually(dialled, "the node accepts the device again")
    return found[-1]


def wrong_leaf(session, file):
    file.leaf = lambda index: bytes(files.leaf_length(len(file.data), index))


def leaf_of_another_place(session, file):
    whole = file.leaf
    file.leaf = lambda index: whole(0 if index == 1 else index)


def wrong_list(session, file):
    file.hashes = [file.hashes[0], *(os.urandom(32) for _ in file.hashes[1:])]


def list_of_leaves_out_of_order(session, file):
    file.hashes = file.hashes[::-1]


def wrong_only_leaf(stage, node):
    file = File(os.urandom(LEAF - 9))
    session = opened(stage, node)
    wrong_leaf(session, file)
    name_file(session, file)
    closes(session)
    forget(session)


def size_that_is_not_the_files(stage, node):
    """A reference with the id of a file that is here, and another size: no such file can exist."""
    file = held(stage, node)
    session = opened(stage, node)
    size, identity = file.reference
    false = [size - LEAF, identity]
    name_file(session, file, false)
    closes(session)
    forget(session)
    session = redialled(stage, node)
    assert session.files.ask(false) == [] and session.files.ask(file.reference) == [tuple(file.reference)]
    session.close()


def invalid(name, make):
    def attempt(stage, node):
        session = opened(stage, node)
        session.channel.send(encode(make(held(stage, node))))
        closes(session)
    attempt.__name__ = name
    return attempt


INVALID = [
    ("range_outside_the_file", lambda file: [WANT_LEAVES, file.reference, True, 39, 2]),
    ("range_beyond_64_bits", lambda file: [WANT_LEAVES, file.reference, True, (1 << 64) - 1, 16]),
    ("no_leaves", lambda file: [WANT_LEAVES, file.reference, False, 0, 0]),
    ("seventeen_leaves", lambda file: [WANT_LEAVES, file.reference, True, 0, 17]),
    ("leaf_of_another_length", lambda file: [LEAF_BYTES, file.reference, 0, bytes(LEAF - 1)]),
    ("leaf_behind_the_last", lambda file: [LEAF_BYTES, file.reference, 40, bytes(LEAF)]),
    ("list_behind_the_last", lambda file: [LEAF_LIST, file.reference, 39, [bytes(32)] * 2]),
    ("empty_list", lambda file: [LEAF_LIST, file.reference, 0, []]),
    ("question_that_keeps", lambda file: [FILES_HERE, QUESTION, True, [file.reference]]),
    ("too_many_files", lambda file: [FILES_HERE, QUESTION, False, [[LEAF, os.urandom(32)] for _ in range(1_025)]]),
    ("file_beyond_a_gibibyte", lambda file: [NO_SUCH_FILE, [(1 << 30) + 1, bytes(32)]]),
    ("files_here_of_a_fourth_sort", lambda file: [FILES_HERE, 3, False, []])]


def no_oracle(stage, node):
    """Files that no record names are nowhere, whatever this device knows of them."""
    session, stranger = opened(stage, node), File(os.urandom(3 * LEAF))
    assert session.files.ask(stranger.reference) == []
    download = Download(stranger.reference)
    download.hashes = list(stranger.hashes)
    assert not session.files.fetch(download, 10), "sends leaves of a file that no record names"
    download = Download(stranger.reference)
    assert not session.files.fetch(download, 10), "sends the list of a file that no record names"
    session.close()


def unrequested_leaves(stage, node):
    """Leaves and lists that were not requested are dropped, and the session goes on."""
    file, session, stranger = held(stage, node), opened(stage, node), File(os.urandom(2 * LEAF))
    for _ in range(20):
        session.send(LEAF_BYTES, stranger.reference, 1, stranger.leaf(1))
        session.send(LEAF_LIST, stranger.reference, 0, stranger.hashes)
        session.send(LEAF_BYTES, file.reference, 3, bytes(LEAF))
        session.send(NO_SUCH_FILE, file.reference)
        session.send(FILES_HERE, ANSWER, True, [stranger.reference])
    assert session.is_equal()
    assert session.files.ask(stranger.reference, file.reference) == [tuple(file.reference)]
    session.close()


def requests_without_waiting(stage, node):
    """200 requests for a mebibyte each, none of whose answers is read."""
    file, session = held(stage, node), opened(stage, node)
    try:
        for _ in range(200):
            session.send(WANT_LEAVES, file.reference, True, 0, 16)
        closes(session)
    except Ended:
        pass


def without_premium(stage, node):
    """Messages about files are dropped while the lane is closed."""
    file, session = held(stage, node), opened(stage, node, stage.mallory)
    for message in ([FILES_HERE, QUESTION, False, [file.reference]], [WANT_LEAVES, file.reference, False, 0, 40],
                    [WANT_LEAVES, file.reference, True, 0, 16], [LEAF_BYTES, file.reference, 0, bytes(LEAF)]):
        session.send(*message)
    session.pump(0.5)
    assert session.is_equal() and not set(session.heard) & set(files.TAGS), session.heard
    session.close()


ATTEMPTS = [
    *(lying(each) for each in (wrong_leaf, leaf_of_another_place, wrong_list, list_of_leaves_out_of_order)),
    wrong_only_leaf, size_that_is_not_the_files, *(invalid(*each) for each in INVALID), no_oracle, unrequested_leaves,
    requests_without_waiting, without_premium]
