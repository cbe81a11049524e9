"""Protocol/channel.md: preambles, and ends of a handshake with given keys.

Needs noiseprotocol from PyPI: an implementation of Noise that shares no code with ours.
"""

import hashlib

from noise.connection import Keypair, NoiseConnection

MAGIC = b"WAYMARK\0"
VERSION = 2
PLAIN = "Noise_XX_25519_ChaChaPoly_SHA256"
PSK = "Noise_XXpsk3_25519_ChaChaPoly_SHA256"


def preamble_key(purpose, value):
    return hashlib.blake2b(b"waymark/%b-preamble/v1\0" % purpose + value, digest_size=32).digest()


def preamble(key, nonce, version=VERSION, magic=MAGIC):
    start = magic + bytes([version]) + nonce
    return start + hashlib.blake2b(start, digest_size=16, key=key).digest()


def party(protocol, static, ephemeral, initiator, prologue, psk):
    noise = NoiseConnection.from_name(protocol.encode())
    noise.set_as_initiator() if initiator else noise.set_as_responder()
    if psk is not None:
        noise.set_psks(psk)
    noise.set_prologue(prologue)
    noise.set_keypair_from_private_bytes(Keypair.STATIC, static)
    noise.set_keypair_from_private_bytes(Keypair.EPHEMERAL, ephemeral)
    noise.start_handshake()
    return noise
