"""Protocol/channel.md: preamble, Noise handshake, frames and fragments."""

import hashlib
import os
import socket
import struct

from noise.connection import Keypair, NoiseConnection

from encoding import require

MAGIC = b"WAYMARK\0"
VERSION = 2
PREAMBLE, NONCE = 41, slice(9, 25)
MORE, LAST, CLOSE = 0, 1, 2
PART, MESSAGE = 65_518, 1_048_576


class Ended(Exception):
    """The other end has closed; `orderly` if it sent a close."""

    def __init__(self, orderly):
        super().__init__("closed" if orderly else "truncated")
        self.orderly = orderly


class Silence(Exception):
    """Nothing arrived in time."""


class Wire:
    """Frames on a socket, in clear or sealed by the caller."""

    def __init__(self, sock):
        self.socket = sock
        self.received = b""

    @classmethod
    def dial(cls, address):
        host, port = address.rsplit(":", 1)
        return cls(socket.create_connection((host.strip("[]"), int(port)), 5))

    def send(self, data):
        try:
            self.socket.settimeout(10)
            self.socket.sendall(data)
        except TimeoutError:
            raise Silence from None
        except OSError:
            raise Ended(False) from None

    def take(self, count, timeout):
        self.socket.settimeout(timeout)
        while len(self.received) < count:
            try:
                data = self.socket.recv(65_536)
            except TimeoutError:
                raise Silence from None
            except OSError:
                data = b""
            if not data:
                raise Ended(False)
            self.received += data
        taken, self.received = self.received[:count], self.received[count:]
        return taken

    def send_frame(self, content):
        self.send(struct.pack(">H", len(content)) + content)

    def take_frame(self, timeout):
        length = self.take(2, timeout)
        return self.take(struct.unpack(">H", length)[0], timeout)

    def ended(self, timeout=5):
        """Waits until the other end closes, whatever else it sends; false if it does not."""
        return self.last_words(timeout) is not None

    def last_words(self, timeout=5):
        """Returns what the other end sends until it closes; None if it does not close."""
        words = b""
        try:
            while True:
                words += self.take(1, timeout)
        except Ended:
            return words
        except Silence:
            return None

    def close(self):
        self.socket.close()


def preamble(key, magic=MAGIC, version=VERSION, nonce=None):
    start = magic + bytes([version]) + (os.urandom(16) if nonce is None else nonce)
    return start + hashlib.blake2b(start, digest_size=16, key=key).digest()


def is_answer(data, start, key, version):
    """Whether the data is the answer of a device with this version to a preamble of another."""
    return data == preamble(key, version=version, nonce=start[NONCE])


def noise(transport, initiator, prologue, psk=None, ephemeral=None):
    """The start of a handshake. Only a transcript gives the ephemeral key; otherwise it is new each time."""
    pattern = b"Noise_XX%b_25519_ChaChaPoly_SHA256" % (b"" if psk is None else b"psk3")
    state = NoiseConnection.from_name(pattern)
    state.set_as_initiator() if initiator else state.set_as_responder()
    if psk is not None:
        state.set_psks(psk)
    state.set_prologue(prologue)
    state.set_keypair_from_private_bytes(Keypair.STATIC, transport)
    if ephemeral is not None:
        state.set_keypair_from_private_bytes(Keypair.EPHEMERAL, ephemeral)
    state.start_handshake()
    return state


class Channel:
    """An authenticated connection: `peer` is the other end's transport key, `hash` names the connection."""

    def __init__(self, wire, state, peer, payload=b""):
        self.wire, self.noise, self.peer, self.payload = wire, state, peer, payload
        self.hash = state.get_handshake_hash()

    @classmethod
    def dial(cls, address, key, transport, knows, payload=b"", psk=None):
        """`key` is that of the preamble. `knows` says whether a transport key is accepted; before that nothing about us
        is sent."""
        wire = Wire.dial(address)
        start = preamble(key)
        state = noise(transport, True, start, psk)
        handshake = state.noise_protocol.handshake_state
        wire.send(start)
        wire.send_frame(bytes(state.write_message()))
        require(state.read_message(wire.take_frame(5)) == b"", "payload in message 2")
        peer = handshake.rs.public_bytes
        if not knows(peer):
            wire.close()
            raise Ended(False)
        wire.send_frame(bytes(state.write_message(payload)))
        return cls(wire, state, peer)

    @classmethod
    def accept(cls, sock, key, transport):
        wire = Wire(sock)
        start = wire.take(PREAMBLE, 5)
        require(start == preamble(key, nonce=start[NONCE]), "preamble of a session")
        state = noise(transport, False, start)
        handshake = state.noise_protocol.handshake_state
        require(state.read_message(wire.take_frame(5)) == b"", "payload in message 1")
        wire.send_frame(bytes(state.write_message()))
        payload = bytes(state.read_message(wire.take_frame(5)))
        return cls(wire, state, handshake.rs.public_bytes, payload)

    def send_part(self, header, part=b""):
        self.wire.send_frame(self.noise.encrypt(bytes([header]) + part))

    def send(self, message):
        parts = [message[at:at + PART] for at in range(0, len(message), PART)] or [b""]
        for part in parts[:-1]:
            self.send_part(MORE, part)
        self.send_part(LAST, parts[-1])

    def receive(self, timeout):
        message = b""
        while True:
            plain = bytes(self.noise.decrypt(self.wire.take_frame(timeout)))
            kind, part = plain[0], plain[1:]
            require(kind in (MORE, LAST, CLOSE), "fragment header")
            if kind == CLOSE:
                require(not part and not message, "close with content or within a message")
                raise Ended(True)
            require(part or kind == LAST, "an empty part with more to come")
            message += part
            require(len(message) <= MESSAGE, "message beyond its limit")
            if kind == LAST:
                return message

    def close(self):
        """Closes in order: what was sent before arrives."""
        try:
            self.send_part(CLOSE)
            self.wire.socket.shutdown(socket.SHUT_WR)
            self.wire.ended(2)
        except (Ended, Silence, OSError):
            pass
        self.wire.close()
