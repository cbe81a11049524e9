// Protocol/session.md, "Messages"

package import Wire

/// A message between two nodes, inside an authenticated channel.
package enum Message: Sendable {
  /// The responder's certificates and entitlements. The initiator sent its own with the handshake.
  case introduction([UInt8])
  /// Hashes of each part of the state. Lists are sent only for the parts that differ.
  case summary(Summary)
  /// The ids of all statements that the sender holds. `reply` also asks for the other side's list.
  case statementIDs([StatementID], reply: Bool)
  /// Statements that the other side lacks. `last` marks the end of the answer to a list of ids.
  case statements([[UInt8]], last: Bool)
  /// Heads of a lane. `complete` marks the start of a list of all heads. Without it, the message continues such a list,
  /// or contains only heads that changed.
  case heads(Lane, [LogHead], complete: Bool)
  case want(Lane, [Want])
  case sets(Lane, [ReceivedSet])
  /// The end of the answer to `want`, whether or not everything requested was sent.
  case served(Lane)
  /// One hash of everything that both sides should have in common. `echo` asks for the other side's hash. In the
  /// answer, nil means that the hash of the side that answers equals the one that was sent with the token.
  case state(Bytes32?, token: UInt64, echo: Bool)
  /// The sender is about to close the connection. Nil stands for a reason that this version does not know.
  case goodbye(ReasonCode?)
  /// A question that sync itself does not need; see `Question`.
  case query(Query)
  case answer(token: UInt64, Answer)
  /// The sender refuses the question.
  case refusal(token: UInt64, ReasonCode)
  /// A request for missing slots of folded sets.
  case wantValues(Lane, [SetSlots])
  /// The answer to `wantValues`: those of the slots that the sender has.
  case values(Lane, [SetValues])
  /// A message about files, in the records lane.
  case file(FileMessage)
  /// A message of a newer version, which is ignored: its tag or its lane is unknown (Protocol/growth.md).
  case unknown([UInt8])
}

extension Message {
  /// Whether the message is about statements or the session itself, not about change sets or questions.
  var isOfCircle: Bool {
    switch self {
    case .introduction, .summary, .statementIDs, .statements, .state, .goodbye: true
    case .heads, .want, .sets, .served, .query, .answer, .refusal, .wantValues, .values, .file, .unknown:
      false
    }
  }
}

/// A change set from a message. It was verified when the message was decoded.
package typealias ReceivedSet = VerifiedChangeSet

/// The state of one side, as hashes: Protocol/session.md, "Summary and state".
package struct Summary: Hashable, Sendable {
  package struct LaneState: Hashable, Sendable {
    /// The verdict of the sender's gate on this lane.
    package var reason: ReasonCode
    package var heads: Bytes32
    package var folded: Bytes32
    package var digest: Bytes32
    package var isOpen: Bool { reason == .open }

    package init(reason: ReasonCode, heads: Bytes32, folded: Bytes32, digest: Bytes32) {
      self.reason = reason
      self.heads = heads
      self.folded = folded
      self.digest = digest
    }
  }

  package var certificates: Bytes32
  /// The time on the sender's wall clock, in milliseconds since 1970.
  package var wall: Moment
  package var settings: LaneState
  package var records: LaneState

  package init(certificates: Bytes32, wall: Moment, settings: LaneState, records: LaneState) {
    self.certificates = certificates
    self.wall = wall
    self.settings = settings
    self.records = records
  }

  package subscript(lane: Lane) -> LaneState {
    get { lane == .settings ? settings : records }
    set { if lane == .settings { settings = newValue } else { records = newValue } }
  }
}

/// The reason why a lane is closed, a question is refused or a session ends, as it is encoded on the wire.
package enum ReasonCode: UInt8, Sendable, CaseIterable {
  case open = 0
  case syncOff = 1
  case freeTier = 2
  case entitlementExpired = 3
  case entitlementNotYetValid = 4
  case clockAhead = 5
  case diskFull = 6
  /// According to the statements that the sender holds, the receiver is not premium.
  case peerNotPremium = 7
  /// The heads of the lane do not fit into one answer. This reason occurs only in a refusal.
  case tooManyHeads = 8
  case paused = 16
  case duplicateConnection = 17
  case shuttingDown = 18
  case notAMember = 19
}
