import JSONDocument

/// Everything that the live page can change; nothing else of the command line can be reached from it.
///
/// In JSON, the member `action` is the case, and the other members are its arguments: `{"action": "undo", "operation":
/// "3fa91c22"}`. Arguments that may be absent are optional. A member that the action does not have is an error.
package enum PageAction: Hashable, Sendable {
  /// `waymark conflicts resolve CONFLICT --take SIDE`: `winner`, `loser`, or a device.
  case resolveConflict(conflict: String, take: String)
  /// `waymark undo OPERATION`.
  case undo(operation: String)
  /// `waymark habit tick HABIT`, for a day such as `2026-05-03`; nil for today.
  case tickHabit(habit: String, date: String?)
  /// `waymark peers pause PEER`.
  case pausePeer(peer: String)
  /// `waymark peers resume PEER`.
  case resumePeer(peer: String)
  /// `waymark sync on`.
  case syncOn
  /// `waymark sync off`.
  case syncOff
  /// `waymark invite`; the ticket is that of a member, never that of an admin.
  case invite
}

/// A request that is not a valid action.
package struct PageActionError: Error, Hashable, Sendable {
  /// A sentence for the developer of the page.
  package let message: String
}

extension PageAction {
  /// Reads an action, and the confirmation that came with it.
  package static func read(
    _ body: [UInt8]
  ) throws(PageActionError) -> (action: PageAction, confirmation: String?) {
    guard let json = try? JSON.parse(body, depthMax: 2), let members = json.members else {
      throw PageActionError(message: "An action is one JSON object.")
    }
    var arguments = try PageArguments(members)
    let name = try arguments.take("action")
    let confirmation = arguments.takeIfPresent("confirmation")
    let action = try read(name, &arguments)
    if let unknown = arguments.rest { throw PageActionError(message: "\(name) has no member “\(unknown)”.") }
    return (action, confirmation)
  }

  private static func read(
    _ name: String, _ arguments: inout PageArguments
  ) throws(PageActionError) -> PageAction {
    switch name {
    case "resolveConflict":
      .resolveConflict(conflict: try arguments.take("conflict"), take: try arguments.take("take"))
    case "undo": .undo(operation: try arguments.take("operation"))
    case "tickHabit":
      .tickHabit(habit: try arguments.take("habit"), date: arguments.takeIfPresent("date"))
    case "pausePeer": .pausePeer(peer: try arguments.take("peer"))
    case "resumePeer": .resumePeer(peer: try arguments.take("peer"))
    case "syncOn": .syncOn
    case "syncOff": .syncOff
    case "invite": .invite
    default: throw PageActionError(message: "There is no such action.")
    }
  }
}

/// The members of an object, all of which are strings.
private struct PageArguments {
  private var values: [String: String] = [:]

  init(_ members: [JSON.Member]) throws(PageActionError) {
    for member in members {
      guard let text = member.value.string, !text.isEmpty else {
        throw PageActionError(message: "Each member of an action is a string that is not empty.")
      }
      values[member.key] = text
    }
  }

  mutating func take(_ key: String) throws(PageActionError) -> String {
    guard let value = takeIfPresent(key) else {
      throw PageActionError(message: "The member “\(key)” is missing.")
    }
    return value
  }

  mutating func takeIfPresent(_ key: String) -> String? { values.removeValue(forKey: key) }

  /// A member that was not taken.
  var rest: String? { values.keys.min() }
}
