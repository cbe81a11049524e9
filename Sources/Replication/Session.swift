// Protocol/session.md, "A session"

package import Membership
package import Wire

/// What the replica knows of one connection.
package struct Session: Sendable {
  package let link: LinkID
  package let remote: TransportKey
  /// On the wall clock.
  package let openedAt: Moment
  /// This side dialled.
  package let isInitiator: Bool
  /// This device is out of the circle, and dialled to hear whether it still is.
  var isAskingToReturn = false
  /// Nil until the peer's certificate has been seen.
  package internal(set) var device: DeviceKey?
  package internal(set) var theirs: Summary?
  /// The summary that the peer has of this side.
  var said: Summary?
  /// The two sides have had each other's statements; lanes are compared only after that.
  var knowsStatements = false
  /// This side's statement ids are out and not answered yet.
  var isAskingStatements = false
  /// When they last went out.
  var askedStatementsAt: Moment?
  package internal(set) var settings = LaneSession()
  package internal(set) var records = LaneSession()
  package internal(set) var roundTrip: Int64?
  /// How many of this side's questions for a sign of life were answered.
  package internal(set) var echoes: UInt64 = 0
  /// What this side said last of all that both should have in common, with the token of the question; nil if two
  /// different hashes went with it.
  var askedState: (token: UInt64, hash: Bytes32?)?
  /// The hash that both sides were last found to have in common.
  var agreedState: Bytes32?
  /// Since when there has been something here that the two have not compared, on the steady clock.
  var changedAt: Moment?
  /// Since when the states have differed, or when that was last followed up, on the steady clock.
  var differsSince: Moment?
  /// How far the peer's wall clock is ahead of this one's, milliseconds.
  package internal(set) var clockSkew: Int64?
  package internal(set) var isInSync = false
  package internal(set) var goodbye: ReasonCode?
  package internal(set) var isClosing = false
  /// The newest question put to the peer; nil once it is answered.
  var asking: Query?
  /// The token of the newest question put to the peer.
  var lastToken: UInt64 = 0
  /// What the peer asked last and has no answer to; a newer question takes its place.
  var asked: Query?
  /// The shell reads for an answer.
  var isReadingAnswer = false
  /// When the peer last got an answer.
  var answeredAt: Moment?

  init(link: LinkID, remote: TransportKey, isInitiator: Bool, now: Moment) {
    self.link = link
    self.remote = remote
    self.isInitiator = isInitiator
    openedAt = now
  }

  package subscript(lane: Lane) -> LaneSession {
    _read { if lane == .settings { yield settings } else { yield records } }
    // In place: a copy of many heads for each message would be felt.
    _modify { if lane == .settings { yield &settings } else { yield &records } }
  }
}

/// One lane of a session.
package struct LaneSession: Sendable {
  package internal(set) var isOpen = false
  /// Why it is closed; nil before both sides have spoken.
  package internal(set) var reason: LaneReason?
  /// The peer's heads as far as known; nil before the first list or equal hash.
  package internal(set) var theirs: Heads?
  /// The peer has told all its heads, or that they are those that are here.
  package internal(set) var hasTold = false
  package internal(set) var isDigestEqual: Bool?
  /// Tips that the peer has announced and that are not stored here: what this side needs of it.
  package internal(set) var lacking: [LogKey: [ChangeSetID: LogHead]] = [:]
  /// The same of devices that no certificate names here: nothing of theirs is asked for. Apart from the rest, for a peer
  /// can invent very many.
  var strangers: [LogKey: [ChangeSetID: LogHead]] = [:]
  /// How many sets further back a log that forked was asked for.
  var back: [LogKey: UInt64] = [:]
  /// What the peer was asked for and has not delivered.
  package internal(set) var asked: [LogKey: [Want]] = [:]
  /// When the peer was asked for a damaged set, on the steady clock.
  var askedAgain: [ChangeSetID: Moment] = [:]
  /// Sets of logs that were asked for, among them tips, that have come since that was looked at.
  var completed: Set<ChangeSetID> = []
  /// Logs that turned out to fork further back since the peer was asked.
  var askedFurtherBack: Set<LogKey> = []
  package internal(set) var askedProgressAt: Moment = 0
  /// When it was asked, on the steady clock.
  var askedAt: Moment = 0
  /// How many sets that was.
  var askedCount: UInt64 = 0
  /// How many sets of this peer are on their way into the store: what they bring is not asked for again.
  var committing = 0
  /// Something that was lacking has come since the peer was asked, or it is clear that more must be asked for.
  var hasProgress = false
  /// The peer ended its answer while its last sets were on their way into the store.
  var isServed = false
  /// Logs of others of which the peer was told, without having asked for them since.
  var announced: Set<LogKey> = []
  /// Logs that the peer gets from others sooner: it is not told of them again unless it asks.
  var elsewhere: Set<LogKey> = []
  /// When the peer was last told all heads.
  var toldAllAt: Moment?
  /// What the peer asked for and the shell has not been told to read.
  var serving: [Want] = []
  package internal(set) var isServing = false
  /// The peer ended its answer without delivering: it is asked again when it speaks of heads anew.
  package internal(set) var isStalled = false
}

extension LaneSession {
  var isCommitting: Bool { committing > 0 }
}

/// Why a lane between two devices is closed.
package enum LaneReason: Hashable, Sendable {
  case mine(GateReason)
  /// What the peer announced of itself.
  case theirs(ReasonCode)
  /// The peer announces an open lane, but its certificates do not allow it.
  case peerNotPremium(GateReason)
}

extension GateReason {
  /// What is said on the wire of one's own closed gate.
  var code: ReasonCode {
    switch self {
    case .freeTier: .freeTier
    case .entitlementExpired: .entitlementExpired
    case .entitlementNotYetValid: .entitlementNotYetValid
    case .syncOff: .syncOff
    case .revoked, .notAMember: .notAMember
    }
  }
}

extension Replica {
  /// Whether sets of a lane are taken from a link.
  package func isOpen(_ link: LinkID, _ lane: Lane) -> Bool { sessions[link]?[lane].isOpen ?? false }

  /// The session with a device, if it is connected.
  package func session(with device: DeviceKey) -> Session? {
    sessionsInOrder.last { $0.device == device && !$0.isClosing }
  }
}

extension Session {
  /// Whether the two sides have compared notes and found the same statements.
  package var isCurrent: Bool { theirs != nil && knowsStatements }
}
