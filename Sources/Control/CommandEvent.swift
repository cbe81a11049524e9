package import Platform
package import Waymark
import WaymarkCare

/// An event that a command sends while it is performed.
package enum CommandEvent: Hashable, Sendable {
  /// The progress so far, and the file being processed.
  case progress(WorkProgress, file: String? = nil)
  /// A part of a file that can't be imported: where, and why.
  case skipped(file: String, place: String, reason: String)
  /// A part of a file that was imported in another form.
  case warning(file: String, text: String)
  /// A ticket with which a device can join now.
  case ticket(String, expires: Date)
  /// A code with which a device can join now, and an address for a network without broadcast.
  case code(String, expires: Date, address: String?)
  /// The device that invites is the circle's only admin and has the root key, and the new device will not be an admin.
  case singleAdmin
}

extension CommandEvent: Codable {
  private enum CodingKeys: CodingKey {
    case type
    case stage
    case file
    case place
    case reason
    case text
    case done
    case total
    case ticket
    case code
    case address
    case expires
  }

  private enum Kind: String, Codable {
    case progress
    case skipped
    case warning
    case ticket
    case code
    case singleAdmin = "single_admin"
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .progress(let progress, let file):
      try container.encode(Kind.progress, forKey: .type)
      try container.encode(progress.stage, forKey: .stage)
      if let file { try container.encode(file, forKey: .file) }
      try container.encode(progress.done, forKey: .done)
      try container.encode(progress.total, forKey: .total)
    case .skipped(let file, let place, let reason):
      try container.encode(Kind.skipped, forKey: .type)
      try container.encode(file, forKey: .file)
      try container.encode(place, forKey: .place)
      try container.encode(reason, forKey: .reason)
    case .warning(let file, let text):
      try container.encode(Kind.warning, forKey: .type)
      try container.encode(file, forKey: .file)
      try container.encode(text, forKey: .text)
    case .ticket(let ticket, let expires):
      try container.encode(Kind.ticket, forKey: .type)
      try container.encode(ticket, forKey: .ticket)
      try container.encode(expires, forKey: .expires)
    case .code(let code, let expires, let address):
      try container.encode(Kind.code, forKey: .type)
      try container.encode(code, forKey: .code)
      try container.encode(expires, forKey: .expires)
      try container.encodeIfPresent(address, forKey: .address)
    case .singleAdmin: try container.encode(Kind.singleAdmin, forKey: .type)
    }
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Kind.self, forKey: .type) {
    case .progress:
      self = .progress(
        WorkProgress(
          stage: try container.decode(String.self, forKey: .stage),
          done: try container.decode(Int.self, forKey: .done),
          total: try container.decode(Int.self, forKey: .total)),
        file: try container.decodeIfPresent(String.self, forKey: .file))
    case .skipped:
      self = .skipped(
        file: try container.decode(String.self, forKey: .file),
        place: try container.decode(String.self, forKey: .place),
        reason: try container.decode(String.self, forKey: .reason))
    case .warning:
      self = .warning(
        file: try container.decode(String.self, forKey: .file),
        text: try container.decode(String.self, forKey: .text))
    case .ticket:
      self = .ticket(
        try container.decode(String.self, forKey: .ticket),
        expires: try container.decode(Date.self, forKey: .expires))
    case .code:
      self = .code(
        try container.decode(String.self, forKey: .code),
        expires: try container.decode(Date.self, forKey: .expires),
        address: try container.decodeIfPresent(String.self, forKey: .address))
    case .singleAdmin: self = .singleAdmin
    }
  }
}
