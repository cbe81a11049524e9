"""Checks of pairing with the client as the inviter, and of its own revocation. The last checks of a run."""

from channel import Ended, Silence
from checks import FULL, READER, Failed, Skipped, check, require
from circle import Circle, Statement, Ticket
from devices import Connection
from encoding import Refused, decode, encode, sign
from session import STATEMENTS


def ticket(world):
    if world.invitation is None:
        world.person.says("waiting for a ticket that the client has made")
        line = world.person.invites()
        if line is None:
            raise Skipped("no ticket of the client was given (TICKET=FILE)")
        world.invitation = Ticket(line)
        require(world.invitation.circle == world.circle.id, "expected a ticket of this circle")
        require(world.invitation.transport == world.client_transport, "expected the client's key in its ticket")
    return world.invitation


def request(device, channel, **other):
    fields = {0: 1, 1: device.device, 2: device.transport_public, 3: device.name,
              4: sign(device.key, "join-proof/v1", channel.hash), 20: "of a newer version", **other}
    channel.send(encode({int(str(key).lstrip("k")): value for key, value in fields.items()}))
    answer = decode(channel.receive(10))
    channel.wire.close()
    return answer


def pair(world, device, psk=None, **other):
    invitation = ticket(world)
    world.pace()
    channel = Connection.dial(
        world.address, invitation.key, device.transport, lambda peer: peer == invitation.transport,
        psk=invitation.psk if psk is None else psk)
    return request(device, channel, **other)


@check("pairing.wrong-key", FULL, "channel", "Handshake")
def wrong_key(world):
    """A joiner with another pre-shared key gets nothing."""
    ticket(world)
    try:
        answer = pair(world, world.stranger("Eve"), psk=bytes(32))
    except (Ended, Silence, Refused):
        return
    raise Failed(f"expected the connection to close after a handshake with another key; {answer} arrived")


@check("pairing.bad-proof", FULL, "circle", "Joining")
def bad_proof(world):
    """A request whose proof does not verify, or with another transport key, is refused with 6."""
    eve = world.stranger("Eve")
    changes = {"a proof of zeros": {"k4": bytes(64)}, "another transport key": {"k2": bytes(31) + b"\1"}}
    for what, change in changes.items():
        answer = pair(world, eve, **change)
        require(answer == {0: 1, 2: 6}, f"expected refusal 6 for {what}; {str(answer)[:60]} arrived")


@check("pairing.joins", FULL, "circle", "Joining")
def joins(world):
    """A correct joiner gets the statements that make it a member, beginning with the genesis; it may ask again."""
    ivy = world.stranger("Ivy")
    for _ in range(2):
        answer = pair(world, ivy)
        require(2 not in answer, f"expected statements; refusal {answer.get(2)} arrived")
        statements = [Statement(each) for each in answer[1]]
        circle = Circle(statements[0])
        require(circle.id == world.circle.id, "expected the genesis of the ticket's circle first")
        for each in statements[1:]:
            circle.add(each)
        require(circle.transport(ivy.device) == ivy.transport_public, "expected a certificate with the joiner's keys")
    world.keep(*statements[1:])
    name = world.circle.chains()[ivy.device][-1].fields[5]
    require(name == "Ivy", f"expected the name that the joiner asked for; it is {name}")
    world.devices["Ivy"] = ivy
    world.settled(ivy, what="the same state with the device that joined")


@check("pairing.spent", FULL, "circle", "Tickets")
def spent(world):
    """A ticket is for one device."""
    answer = pair(world, world.stranger("Mary"))
    if "Ivy" not in world.devices:
        raise Skipped("no device has joined with the ticket; see pairing.joins")
    require(answer == {0: 1, 2: 1}, f"expected refusal 1 for a ticket that is spent; {str(answer)[:60]} arrived")


@check("revocation.of-the-client", READER, "session", "Certificates")
def of_the_client(world):
    """A client that learns of its own revocation ends its sessions and admits no one. This ends its membership."""
    alice, bob = world.settled(), world.dial(world.bob)
    bob.in_sync()
    revocation = world.revoke(clientlike(world))
    alice.send(STATEMENTS, False, [revocation.data])
    alice.closes("the revocation of the client itself")
    bob.closes("the revocation of the client itself")
    try:
        channel = world.bob.channel()
        message = decode(channel.receive(5))
    except (Ended, OSError):
        return
    except Silence:
        raise Failed("expected a revoked client to close the connection of a member; it stayed open") from None
    raise Failed(f"expected a revoked client to admit no one; the message with the tag {message[0]} arrived")


def clientlike(world):
    class Revoked:
        device = world.client
    return Revoked
