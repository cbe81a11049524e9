// Protocol/session.md; the interface between the replica and its shell.

package import Membership
package import Wire

/// Identifies one connection while it exists.
package struct LinkID: Hashable, Comparable, Sendable {
  package let rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  package static func < (left: LinkID, right: LinkID) -> Bool { left.rawValue < right.rawValue }
}

/// An event that the shell reports to the replica.
package enum Input: Sendable {
  /// The node begins to serve. The replica arms its timers and has the shell fold the sets that are due.
  case started
  /// The shell finished a handshake. `introduction` is the one that the initiator sent with the handshake; it is nil on
  /// the initiator's side.
  case opened(LinkID, remote: TransportKey, introduction: [UInt8]?)
  /// A link delivered a message.
  case received(LinkID, Message)
  /// A congested link has room again.
  case drained(LinkID)
  /// A link has ended.
  case closed(LinkID)
  /// The store committed sets, our own or received ones.
  case committed(Committed)
  /// The disk is full. Sets that were received on these links were not stored, and no more sets can be stored for now.
  case notKept([LinkID])
  /// The disk has room again.
  case roomAgain
  /// The shell carried out `Effect.serve`: it sent some sets, and `rest` is still to be sent.
  case served(LinkID, Lane, sent: [LogHead], rest: [Want], isCongested: Bool)
  /// The shell carried out `Effect.lookUp`: these tips are not in the store.
  case lookedUp(LinkID, Lane, lacking: [LogHead])
  /// The store rebuilt its logs, for example because a cut took effect or was voided. The sets that are stored and
  /// folded may have changed.
  case rebuilt(settings: Replica.LaneState, records: Replica.LaneState, newestForeignClock: Clock)
  /// In each of our own logs, the newest set that may have been sent. Reported after a new incarnation has begun or
  /// sets have been re-authored.
  case withholding([LogKey: LogHead])
  /// The shell has carried out `Effect.release`.
  case released(Lane)
  /// The complete list of the stored sets that are damaged.
  case damaged([LogHead])
  /// Whether the store has missing slots. Reported when the store's list of them has changed.
  case valuesMissing(Bool)
  /// The shell carried out `Effect.readMissing`.
  case missingRead([MissingSlots])
  /// The shell carried out `Effect.readValues`. The values are nil if the link is congested.
  case valuesRead(LinkID, Lane, [SetValues]?)
  /// The shell carried out `Effect.storeValues`. Some of the values may not have matched their commitments.
  case valuesStored(LinkID, hasWrong: Bool, isAnyMissing: Bool)
  /// This device added statements of its own: an entitlement, a certificate, addresses.
  case statementsAdded([[UInt8]])
  /// A command asks a peer a question. The outcome is reported with `Effect.reply`.
  case ask(LinkID, Lane, Question)
  /// The shell carried out `Effect.answer`. The answer is nil if the link is congested.
  case answered(LinkID, Query, Answer?)
  /// An event in the exchange of files.
  case file(FileInput)
  /// The person turned records sync on or off.
  case preferenceChanged(Bool)
  /// A timer that was scheduled has fired.
  case timer(ReplicaTimer)
}

/// An action for the shell. Effects are carried out in order.
package enum Effect: Sendable {
  case send(LinkID, Message)
  /// Close the link after sending what is queued.
  case close(LinkID, CloseCause)
  /// Store and fold these sets, in one transaction with the other sets from the same turn of the event loop. Answer
  /// with `committed`.
  case commit([VerifiedChangeSet], from: LinkID)
  /// Read these sets and send them. Answer with `served`.
  case serve(LinkID, Lane, [Want])
  /// Read the answer to a peer's question. Answer with `answered`.
  case answer(LinkID, Query)
  /// Report the outcome of the last question asked on this link.
  case reply(LinkID, Reply)
  /// Find out which of a peer's tips are missing from the store. Answer with `lookedUp`.
  case lookUp(LinkID, Lane, [LogHead])
  /// Read at most `Limits.valuesWantedMax` sets with missing slots, by ascending number, from the one after this number
  /// on. Answer with `missingRead`.
  case readMissing(after: Int64)
  /// Read those of these slots that are here, of folded sets. Answer with `valuesRead`.
  case readValues(LinkID, Lane, [SetSlots])
  /// Store those of these values that match their commitments. Answer with `valuesStored`.
  case storeValues([ArrivedValues], from: LinkID)
  /// Save new statements and delete those that the circle no longer keeps.
  case saveStatements([Statement], removed: [StatementID])
  /// Save durably the moment below which gate time must never fall again.
  case keepGateFloor(Moment)
  /// Fold the parked sets that are due. Answer with `committed`.
  case foldParked
  /// Apply those cuts of the circle's statements that are not applied yet.
  case applyCuts
  /// Record durably that our own sets of a lane may be sent from now on. Answer with `released`. The replica repeats
  /// this effect with every input until it is answered.
  case release(Lane)
  /// An action in the exchange of files. `send`, `charge`, `misbehaved` and `schedule` never occur here, because the
  /// replica turns them into effects of its own.
  case file(FileEffect)
  /// Fire the timer after this many milliseconds. It replaces a pending timer with the same name.
  case schedule(ReplicaTimer, after: Moment)
  case report(ReplicaEvent)
}

/// The replica's timers. A stale timer that fires changes nothing.
package enum ReplicaTimer: Hashable, Sendable {
  /// The regular comparison with a peer is due.
  case beat(LinkID)
  /// The comparison after a burst of changes is due.
  case settle
  /// An entitlement begins or ends.
  case gate
  /// A parked set can be folded.
  case unpark
  /// Cuts that are not applied yet may rebuild the logs.
  case applyCuts
  /// The deadline for sets that were requested from a peer.
  case overdue(LinkID)
  /// A peer's next question may be answered.
  case answer(LinkID)
  case file(FileTimer)
  /// A file of the trash may be due to be deleted. The replicator handles it.
  case trash
  /// The deadline for missing slots that were requested from a peer.
  case values(LinkID)
  /// The withheld sets of a lane may be released.
  case ownLogs(Lane)
}

/// The reason why the replica ends a session.
package enum CloseCause: Hashable, Sendable {
  case notAMember
  case revoked
  /// This device itself is not a member.
  case excluded
  case duplicate
  /// The peer violated the protocol and is penalised.
  case misbehaved(String)
  case shuttingDown
}

/// An event for the log, for counters or for a person.
package enum ReplicaEvent: Hashable, Sendable {
  case peerJoined(DeviceKey, LinkID)
  case laneOpened(DeviceKey, Lane)
  case laneClosed(DeviceKey, Lane, LaneReason)
  case inSync(DeviceKey)
  case digestMismatch(DeviceKey, Lane)
  case membershipChanged
  /// A member has acknowledged another revocation.
  case acknowledgedRevocations(DeviceKey)
  /// These keys have signed more statements than the circle keeps.
  case statementsCrowded(Set<DeviceKey>)
  case gateChanged
  /// A device has written more in a lane than its quota. Reported once for each of its logs.
  case quotaExceeded(DeviceKey, Lane)
}

/// The outcome of a commit: where each set was placed, and the state of the store after the commit.
package struct Committed: Sendable {
  package struct Item: Sendable {
    package let set: VerifiedChangeSet
    /// The link that the set came from; nil for our own sets.
    package let link: LinkID?
    package let placement: Placement

    package init(set: VerifiedChangeSet, link: LinkID?, placement: Placement) {
      self.set = set
      self.link = link
      self.placement = placement
    }
  }

  package var items: [Item]
  /// The new heads of the logs that moved, in both lanes.
  package var heads: [LogHead]
  /// The former heads that `heads` replaces.
  package var goneHeads: [LogHead]
  package var settingsDigest: Digest
  package var recordsDigest: Digest
  /// The newest clock folded from another device. Gate time is at least the time of this clock.
  package var newestForeignClock: Clock
  package var nextParkedClock: Clock?
  /// When the first held erase is due, on the wall clock; nil if none is held.
  package var nextHeldErase: Moment?

  package init(
    items: [Item], heads: [LogHead], goneHeads: [LogHead], settingsDigest: Digest, recordsDigest: Digest,
    newestForeignClock: Clock, nextParkedClock: Clock?, nextHeldErase: Moment? = nil
  ) {
    self.items = items
    self.heads = heads
    self.goneHeads = goneHeads
    self.settingsDigest = settingsDigest
    self.recordsDigest = recordsDigest
    self.newestForeignClock = newestForeignClock
    self.nextParkedClock = nextParkedClock
    self.nextHeldErase = nextHeldErase
  }
}
