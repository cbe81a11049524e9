import Platform
import Home
package import JSONDocument

/// The form of times, ids and paths in JSON documents: times as RFC 3339, ids in upper case, files by their paths.
package enum DocumentCoding {
  /// - Parameter userInfo: how commands in a `Step` are encoded; see `CodingUserInfoKey.keepsSteps`.
  package static func encode(
    _ value: some Encodable, _ userInfo: [CodingUserInfoKey: any Sendable] = [:]
  ) throws -> JSON {
    try JSONValueEncoder(userInfo: userInfo) { value in
      switch value {
      case let date as Date: .string(CivilTime.text(date.milliseconds))
      case let id as UUID: .string(id.uuidString)
      case let url as URL: .string(url.isFileURL ? url.path(percentEncoded: false) : url.absoluteString)
      default: nil
      }
    }.encode(value)
  }
}
