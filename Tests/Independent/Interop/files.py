"""Protocol/files.md: files, their leaves, and their exchange, from this side."""

import collections
import time

import merge
from channel import Ended, Silence
from encoding import hashed, is_bytes, is_number, require

WANT_LEAVES, LEAF_LIST, LEAF_BYTES, FILES_HERE, NO_SUCH_FILE = TAGS = range(15, 20)
QUESTION, ANSWER, ANNOUNCEMENT = range(3)
LEAF, FILE_MAX, MESSAGE_MAX = 65_536, 1 << 30, 66_560
HASHES_MAX, LEAVES_MAX, FILES_MAX, REQUESTS_MAX = 1_920, 16, 1_024, 128


def leaf_hash(index, data):
    return hashed("leaf/v1", index.to_bytes(8, "big"), data)


def leaf_count(size):
    return -(-size // LEAF)


def leaf_length(size, index):
    return min(LEAF, size - index * LEAF)


def file_id(size, hashes):
    return hashed("file/v1", size.to_bytes(8, "big"), *hashes)


class File:
    """A whole file, as its author has it."""

    def __init__(self, data):
        self.data = data
        self.hashes = [leaf_hash(index, self.leaf(index)) for index in range(leaf_count(len(data)))]
        self.reference = [len(data), file_id(len(data), self.hashes)]

    def leaf(self, index):
        return self.data[index * LEAF:(index + 1) * LEAF]


def read_reference(value):
    require(type(value) is list and len(value) == 2 and is_number(value[0], 0, FILE_MAX) and is_bytes(value[1], 32),
            "file reference")
    return tuple(value)


# The fields that may name files: of an attachment and of the profile.
FILE_FIELDS = {7: 9, 4_096: 9}


def named_by(lane):
    """The files that the shown value of a field or a sibling names, in folded sets."""
    named = set()
    for cell, writes in merge.cells(lane.folded.values()).items():
        if cell[0] in FILE_FIELDS and cell[2] in (0, FILE_FIELDS[cell[0]]):
            for write in [merge.winner(writes), *lane.siblings(cell)]:
                value = write.value.get(FILE_FIELDS[cell[0]]) if type(write.value) is dict else write.value
                if type(value) is list:
                    named.add(read_reference(value))
    return named


def read(tag, parts):
    """The parts of a message about files, checked."""
    if tag == FILES_HERE:
        require(len(parts) == 3, "parts")
        what, keeps, files = parts
        require(is_number(what, 0, 2) and type(keeps) is bool and (what != QUESTION or not keeps), "files here")
        require(type(files) is list and len(files) <= FILES_MAX, "files")
        return what, keeps, [read_reference(each) for each in files]
    require(parts, "parts")
    file = read_reference(parts[0])
    count = leaf_count(file[0])
    if tag == NO_SUCH_FILE:
        require(len(parts) == 1, "parts")
        return (file,)
    if tag == WANT_LEAVES:
        require(len(parts) == 4 and type(parts[1]) is bool, "want leaves")
        first, number = parts[2:]
        require(is_number(first, 0, count) and is_number(number, 1, LEAVES_MAX if parts[1] else count), "range")
        require(first + number <= count, "range within the file")
    elif tag == LEAF_LIST:
        require(len(parts) == 3 and type(parts[2]) is list and 1 <= len(parts[2]) <= HASHES_MAX, "leaf list")
        require(is_number(parts[1], 0, count) and parts[1] + len(parts[2]) <= count, "range within the file")
        require(all(is_bytes(each, 32) for each in parts[2]), "hashes")
    else:
        require(len(parts) == 3 and is_number(parts[1], 0, count - 1), "leaf bytes")
        require(is_bytes(parts[2], leaf_length(file[0], parts[1])), "length of a leaf")
    return (file, *parts[1:])


class Download:
    """A file that arrives: first its list, then its leaves, in any order and over any number of sessions."""

    def __init__(self, reference):
        self.size, self.id = self.reference = tuple(reference)
        self.hashes, self.leaves, self.refused = [None] * leaf_count(self.size), {}, False
        self.fetched = 0

    @property
    def has_list(self):
        return None not in self.hashes

    @property
    def is_whole(self):
        return len(self.leaves) == leaf_count(self.size)

    @property
    def data(self):
        return b"".join(self.leaves[index] for index in range(leaf_count(self.size)))

    def on_list(self, first, hashes):
        self.hashes[first:first + len(hashes)] = hashes
        require(not self.has_list or file_id(self.size, self.hashes) == self.id, "leaf list")

    def on_leaf(self, index, data):
        if len(self.hashes) == 1:
            self.hashes = [leaf_hash(index, data)]
            require(file_id(self.size, self.hashes) == self.id, "the only leaf")
        require(self.hashes[index] == leaf_hash(index, data), "leaf")
        self.leaves[index] = data
        self.fetched += 1


class Exchange:
    """The files of one session. The client's files outlive it."""

    def __init__(self, session):
        self.session = session
        self.answers, self.announced, self.keeps = collections.deque(), set(), None
        self.downloads = {}
        # What the peer has requested, and how many leaves this side sends at most, to break off.
        self.requested, self.budget = [], None

    # Receiving

    def on(self, tag, *parts):
        parts = read(tag, list(parts))
        if not self.session.is_open(1):
            return
        {WANT_LEAVES: self.on_want, LEAF_LIST: self.on_list, LEAF_BYTES: self.on_leaf, FILES_HERE: self.on_here,
         NO_SUCH_FILE: self.on_none}[tag](*parts)

    def on_here(self, what, keeps, files):
        if what == QUESTION:
            here = [list(each) for each in files if each in self.session.client.named_files()]
            return self.session.send(FILES_HERE, ANSWER, self.session.client.keeps_files, here)
        self.keeps = keeps
        self.announced.update(files)
        if what == ANSWER:
            self.answers.append(files)

    def on_want(self, file, is_bytes_wanted, first, count):
        self.requested.append((file, is_bytes_wanted, first, count))
        held = self.session.client.named_files().get(file)
        if held is None:
            return self.session.send(NO_SUCH_FILE, list(file))
        if not is_bytes_wanted:
            for start in range(first, first + count, HASHES_MAX):
                hashes = held.hashes[start:min(start + HASHES_MAX, first + count)]
                self.session.send(LEAF_LIST, list(file), start, hashes)
            return
        for index in range(first, first + count):
            if self.budget is not None:
                if self.budget == 0:
                    return
                self.budget -= 1
            self.session.send(LEAF_BYTES, list(file), index, held.leaf(index))

    def on_list(self, file, first, hashes):
        if file in self.downloads:
            self.downloads[file].on_list(first, hashes)

    def on_leaf(self, file, index, data):
        if file in self.downloads:
            self.downloads[file].on_leaf(index, data)

    def on_none(self, file):
        if file in self.downloads:
            self.downloads[file].refused = True

    # Asking

    def ask(self, *references, timeout=10):
        """Which of these files the peer has."""
        self.session.send(FILES_HERE, QUESTION, False, [list(each) for each in references])
        self.session.until(lambda: self.answers, timeout, "an answer about files")
        return self.answers.popleft()

    def announce(self, *files):
        self.session.send(FILES_HERE, ANNOUNCEMENT, self.session.client.keeps_files, [each.reference for each in files])

    def fetch(self, download, leaves_max=None, timeout=30):
        """Requests what is missing of a file, at most `leaves_max` leaves."""
        self.downloads[download.reference] = download
        count = leaf_count(download.size)
        if count > 1 and not download.has_list:
            self.session.send(WANT_LEAVES, list(download.reference), False, 0, count)
            self.wait(lambda: download.has_list or download.refused, timeout, "a leaf list")
        missing = [index for index in range(count) if index not in download.leaves][:leaves_max]
        while missing and not download.refused:
            run = missing[:1]
            for index in missing[1:LEAVES_MAX]:
                if index == run[-1] + 1:
                    run.append(index)
            self.session.send(WANT_LEAVES, list(download.reference), True, run[0], len(run))
            self.wait(lambda: download.refused or all(each in download.leaves for each in run), timeout, "leaves")
            missing = [each for each in missing if each not in download.leaves]
        return not download.refused

    def wait(self, done, timeout, what):
        end = time.monotonic() + timeout
        while not done():
            assert time.monotonic() < end, f"waited {timeout} s for {what}"
            try:
                self.session.step(max(end - time.monotonic(), 0.01))
            except Silence:
                pass


def ends(session, timeout=10):
    """Whether the other side hangs up."""
    try:
        return session.is_closed_by_peer(timeout)
    except Ended:
        return True
