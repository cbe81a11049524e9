// Protocol/session.md, "Messages"

package import Wire

/// What one node says to another inside an authenticated channel.
package enum Message: Sendable {
  /// The responder's certificates and entitlements; the initiator's went with the handshake.
  case introduction([UInt8])
  /// Hashes of everything, so that lists follow only where these differ.
  case summary(Summary)
  /// The ids of every statement held; `reply` asks for the other side's list too.
  case statementIDs([StatementID], reply: Bool)
  /// Statements that the other lacks; `last` ends the answer to a list of ids.
  case statements([[UInt8]], last: Bool)
  /// Heads of a lane: all of them, or only those that changed.
  case heads(Lane, [LogHead], complete: Bool)
  case want(Lane, [Want])
  case sets(Lane, [ReceivedSet])
  /// The answer to `want` is over, whether or not all of it was sent.
  case served(Lane)
  /// One hash of all that both sides should have in common; `echo` asks for the other's, and nil answers that it is
  /// the one that came with the token.
  case state(Bytes32?, token: UInt64, echo: Bool)
  /// The sender will close, and why.
  /// Nil is a reason that this version does not know.
  case goodbye(ReasonCode?)
  /// A question besides what sync needs.
  case query(Query)
  case answer(token: UInt64, Answer)
  /// The question is not answered, and why.
  case refusal(token: UInt64, ReasonCode)
}

extension Message {
  /// Whether it is about the statements of the circle, or about the session itself.
  var isOfCircle: Bool {
    switch self {
    case .introduction, .summary, .statementIDs, .statements, .state, .goodbye: true
    case .heads, .want, .sets, .served, .query, .answer, .refusal: false
    }
  }
}

/// A change set inside a message, verified where the message was decoded.
package typealias ReceivedSet = VerifiedChangeSet

/// Where a side stands: Protocol/session.md, "Summary".
package struct Summary: Hashable, Sendable {
  package struct LaneState: Hashable, Sendable {
    /// The sender's own gate: whether it wants and may have the lane flow.
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
  /// The sender's wall clock, milliseconds since 1970.
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

/// Why a lane is closed, or a session ends, as said on the wire.
package enum ReasonCode: UInt8, Sendable, CaseIterable {
  case open = 0
  case syncOff = 1
  case freeTier = 2
  case entitlementExpired = 3
  case entitlementNotYetValid = 4
  case clockAhead = 5
  case diskFull = 6
  /// By the certificates that the sender holds, the receiver is not premium.
  case peerNotPremium = 7
  /// Only in a refusal: one answer has no room for the heads of the lane.
  case tooManyHeads = 8
  case paused = 16
  case duplicateConnection = 17
  case shuttingDown = 18
  case notAMember = 19
}
