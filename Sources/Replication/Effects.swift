// Protocol/session.md; the vocabulary between the replica and its shell.

package import Membership
package import Wire

/// Names one connection for as long as it lives.
package struct LinkID: Hashable, Comparable, Sendable {
  package let rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  package static func < (left: LinkID, right: LinkID) -> Bool { left.rawValue < right.rawValue }
}

/// What happened in the world.
package enum Input: Sendable {
  /// The node begins to serve: timers that the last run left behind are armed again.
  case started
  /// The shell finished a handshake. `introduction` is what the initiator sent with it; nil at the initiator.
  case opened(LinkID, remote: TransportKey, introduction: [UInt8]?)
  /// A link delivered a message.
  case received(LinkID, Message)
  /// A link that was full has room again.
  case drained(LinkID)
  /// A link is gone.
  case closed(LinkID)
  /// The store committed sets, of one's own or from links.
  case committed(Committed)
  /// The disk is full: what came with these links is not stored, and nothing more can be for now.
  case notKept([LinkID])
  /// There is room on the disk again.
  case roomAgain
  /// The shell sent what it read for `Effect.serve`.
  case served(LinkID, Lane, sent: [LogHead], rest: [Want], isCongested: Bool)
  /// The shell looked for tips of logs that forked: these are not in the store.
  case lookedUp(LinkID, Lane, lacking: [LogHead])
  /// A cut, or the end of one, changed which sets are stored and folded.
  case rebuilt(settings: Replica.LaneState, records: Replica.LaneState, newestForeignClock: Clock)
  /// What of the own logs may have been sent has changed: a new incarnation, or sets that gave way.
  case withholding([LogKey: LogHead])
  /// The shell has carried out `Effect.release`.
  case released(Lane)
  /// The disk has altered these stored sets: all that are known now.
  case damaged([LogHead])
  /// This device added statements of its own: an entitlement, a certificate, addresses.
  case statementsAdded([[UInt8]])
  /// A command asks a peer; comes back as `Effect.reply`.
  case ask(LinkID, Lane, Question)
  /// The shell read for `Effect.answer`; nil if the link is full.
  case answered(LinkID, Query, Answer?)
  /// The person turned records sync on or off.
  case preferenceChanged(Bool)
  /// A timer came back.
  case timer(ReplicaTimer)
}

/// What the shell must do. Effects are carried out in order.
package enum Effect: Sendable {
  case send(LinkID, Message)
  /// Close after sending what is queued.
  case close(LinkID, CloseCause)
  /// Store and fold these, in one transaction with others of the same turn; answer with `committed`.
  case commit([VerifiedChangeSet], from: LinkID)
  /// Read these sets and send them; answer with `served`.
  case serve(LinkID, Lane, [Want])
  /// Read what a peer asks; answer with `answered`.
  case answer(LinkID, Query)
  /// What became of the question that was asked last on this link.
  case reply(LinkID, Reply)
  /// See which of a peer's tips are in the store; answer with `lookedUp`.
  case lookUp(LinkID, Lane, [LogHead])
  /// Keep new statements; forget those that a newer word of the same device replaced.
  case saveStatements([Statement], removed: [StatementID])
  /// Keep durably that gate time never falls below a moment again.
  case keepGateFloor(Moment)
  /// Fold the parked sets whose time has come; answer with `committed`.
  case foldParked
  /// Keep durably that own sets of a lane may have been sent to someone from now on; answer with `released`.
  /// Comes again with the next input as long as it is not answered.
  case release(Lane)
  /// Bring the timer back after so many milliseconds; a newer one of the same name replaces it.
  case schedule(ReplicaTimer, after: Moment)
  case report(ReplicaEvent)
}

/// Names what is due; a stale one changes nothing.
package enum ReplicaTimer: Hashable, Sendable {
  /// Compare notes with a peer.
  case beat(LinkID)
  /// Compare with peers what changed; coalesces bursts.
  case settle
  /// An entitlement begins or ends.
  case gate
  /// A parked set's time comes.
  case unpark
  /// A peer owes sets that were asked for.
  case overdue(LinkID)
  /// A peer's next question may be answered.
  case answer(LinkID)
  /// Own sets may be let go.
  case ownLogs(Lane)
}

/// Why the replica ends a session.
package enum CloseCause: Hashable, Sendable {
  case notAMember
  case revoked
  /// This very device is out of the circle.
  case excluded
  case duplicate
  /// The peer sent something that no correct node sends; it is left alone for a while.
  case misbehaved(String)
  case shuttingDown
}

/// What a person or a log may want to know.
package enum ReplicaEvent: Hashable, Sendable {
  case peerJoined(DeviceKey, LinkID)
  case laneOpened(DeviceKey, Lane)
  case laneClosed(DeviceKey, Lane, LaneReason)
  case inSync(DeviceKey)
  case digestMismatch(DeviceKey, Lane)
  case membershipChanged
  /// A member is known to hold a revocation of which it was not known before.
  case acknowledgedRevocations(DeviceKey)
  /// These keys have signed more statements than there is room for.
  case statementsCrowded(Set<DeviceKey>)
  case gateChanged
}

/// What became of sets that were given to the store, and where the store stands now.
package struct Committed: Sendable {
  package struct Item: Sendable {
    package let set: VerifiedChangeSet
    /// Nil for a set of this device's own.
    package let link: LinkID?
    package let placement: Placement

    package init(set: VerifiedChangeSet, link: LinkID?, placement: Placement) {
      self.set = set
      self.link = link
      self.placement = placement
    }
  }

  package var items: [Item]
  /// Heads that moved, of both lanes.
  package var heads: [LogHead]
  /// Heads in whose place these are.
  package var goneHeads: [LogHead]
  package var settingsDigest: Digest
  package var recordsDigest: Digest
  /// The newest clock folded from another device: what the gate knows of time.
  package var newestForeignClock: Clock
  package var nextParkedClock: Clock?

  package init(
    items: [Item], heads: [LogHead], goneHeads: [LogHead], settingsDigest: Digest, recordsDigest: Digest,
    newestForeignClock: Clock, nextParkedClock: Clock?
  ) {
    self.items = items
    self.heads = heads
    self.goneHeads = goneHeads
    self.settingsDigest = settingsDigest
    self.recordsDigest = recordsDigest
    self.newestForeignClock = newestForeignClock
    self.nextParkedClock = nextParkedClock
  }
}
